"""The `[layers.NAME]` tables: the source of each attribute, and the layer's style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import LayoutError, ParameterError
from ..models import OutputSpec
from ..params import ParamSpec, accept, described, parse_color, shown
from ..renderer.annotations.overlay import ColorBar
from ..renderer.layers import AttributeSpec, Layer
from .link import Links
from .locate import KeyPath
from .model_tables import known_type
from .problems import SceneProblems
from .schema import Constant, LayerSpec, OutputRef
from .tables import Reader

Drawn = OutputRef | Constant
POSITION = "position"  # the attribute that sets the number of rows of a layer
INDEX = "index"  # the attribute with indices of rows
_INDEX_DTYPES = ("u32",)
_DTYPES = ("f32", "f16", "u8")

Shape = tuple[int | None, ...]

COLORBAR = "colorbar"
TENSOR = "tensor"  # a type of layer and its attribute: a table with that needs no type


def read_layers(
    values: Mapping[str, Any], types: Mapping[str, type[Layer]], links: Links, reader: Reader
) -> dict[str, LayerSpec]:
    """Every layer whose type is known. Raises `TypeError` if a name is attribute and style of one type."""
    found = {}
    for name, table in reader.named_tables(values, "layers").items():
        table = {"type": TENSOR, **table} if TENSOR in table else table
        type_name = known_type(table, ("layers", name), "layer", types, reader.problems)
        if type_name is None:
            continue
        layer, path = types[type_name], ("layers", name)
        if layer.most is not None and sum(spec.type == type_name for spec in found.values()) >= layer.most:
            reader.problems.at_key(path, f"there may be {layer.most} layers of the type {type_name}")
            continue
        _refuse_unknown(layer, table, path, reader)
        attributes = _attributes(layer, table, path, links, reader.problems)
        style = reader.params(layer.Style, table, path).params
        if style is not None:
            found[name] = LayerSpec(name, type_name, attributes, style, _colorbar(table, path, attributes, reader))
    return found


def _colorbar(
    table: Mapping[str, Any], path: KeyPath, attributes: Mapping[str, Drawn], reader: Reader
) -> ColorBar | None:
    """The legend, if the layer has one and its color is a scalar."""
    if COLORBAR not in table:
        return None
    bar_path = (*path, COLORBAR)
    if not any(isinstance(attributes.get(name), OutputRef) for name in ("color", "pixels")):
        reader.problems.at_key(bar_path, "color is one for all rows; a color bar needs a color that is a scalar")
    return reader.section(ColorBar, table, bar_path).params


def _refuse_unknown(layer: type[Layer], table: Mapping[str, Any], path: KeyPath, reader: Reader) -> None:
    styles, attributes = layer.Style.model_fields, layer.ATTRIBUTES
    if taken := (styles.keys() & attributes.keys()) | ({"type", COLORBAR} & (styles.keys() | attributes.keys())):
        raise TypeError(f"{layer.Style.__qualname__}: {', '.join(taken)} has two meanings in a scene file")
    reader.refuse_unknown(table, ("type", COLORBAR, *attributes, *styles), path, "key")


def _attributes(
    layer: type[Layer], table: Mapping[str, Any], path: KeyPath, links: Links, problems: SceneProblems
) -> dict[str, Drawn]:
    found: dict[str, Drawn] = {}
    for name, rule in layer.ATTRIBUTES.items():
        if name not in table:
            if rule.required:
                problems.at_key(path, f"needs {name}" + (f" ({rule.doc})" if rule.doc else ""))
            continue
        drawn = _drawn(table[name], rule, (*path, name), links, problems)
        if drawn is not None:
            found[name] = drawn
    _refuse_misfits(layer, found, path, links, problems)
    return found


def _drawn(value: Any, rule: AttributeSpec, path: KeyPath, links: Links, problems: SceneProblems) -> Drawn | None:
    if isinstance(value, str) and not value.startswith("#"):
        if rule.default is not None and 3 in rule.components and "." not in value:
            problems.at_value(path, f'expected "MODEL.OUTPUT", or a color like "#3366cc", got {shown(value)}')
            return None
        return links.reference(value, path)
    try:
        return _constant(value, rule)
    except ParameterError as error:
        problems.at_value(path, str(error))
        return None


def _constant(value: Any, rule: AttributeSpec) -> Constant:
    if rule.default is None:
        raise ParameterError(f'expected "MODEL.OUTPUT", such as "galaxy.position", got {described(value)}')
    if isinstance(value, str):
        components: tuple[float, ...] = parse_color(value)
    elif isinstance(value, list):
        components = accept(ParamSpec(kind="vector", length=len(value)), value)
    else:
        components = (accept(ParamSpec(kind="number"), value),)
    count = len(components)
    if count not in rule.components:
        raise ParameterError(f"expected {' or '.join(map(str, rule.components))} numbers, got {count}")
    return components[0] if count == 1 else components


def _refuse_misfits(
    layer: type[Layer], drawn: Mapping[str, Drawn], path: KeyPath, links: Links, problems: SceneProblems
) -> None:
    """Check dtype and shape of each attribute, and its rows against those of the position."""
    rows: int | None = None
    for name in sorted(drawn, key=lambda name: name != POSITION):
        reference = drawn[name]
        output = links.spec(reference) if isinstance(reference, OutputRef) else None
        rule = layer.ATTRIBUTES[name]
        if output is None or not isinstance(reference, OutputRef) or rule.any_layout:
            continue
        try:
            found = rows_drawn(name, reference, output, rule.components, None if rule.own_rows else rows)
            rows = found if name == POSITION else rows
        except LayoutError as error:
            problems.at_value((*path, name), str(error))


# rows -----------------------------------------------------------------------------------------------------------------


def rows_drawn(
    attribute: str, reference: OutputRef, output: OutputSpec, components: Sequence[int], rows: int | None
) -> int | None:
    """The rows of an output drawn as `attribute`, from its shape and dtype; None if they are not known yet.

    The rule for rows and components is that of `renderer.vertex_layout`, which checks the tensor itself later.

    `components` are the allowed numbers of components per row, `rows` is the required number of rows, None for any.
    Raises `LayoutError` if the output does not fit.
    """
    dtypes = _INDEX_DTYPES if attribute == INDEX else _DTYPES
    if output.dtype not in dtypes:
        raise LayoutError(f"{reference} is {output.dtype}; {attribute} takes {' or '.join(dtypes)}")
    rows = None if attribute == INDEX else rows
    for found in _readings(output.shape, components):
        if found is None or rows in (None, found):
            return found
    expected = f"rows of {' or '.join(map(str, components))} number" + "s" * (max(components) > 1)
    found = f"{reference} has shape {_shape_text(output.shape)}; {attribute} takes"
    raise LayoutError(f"{found} {expected}" if rows is None else f"{found} {rows} {expected}, as many as {POSITION}")


def _readings(shape: Shape, components: Sequence[int]) -> list[int | None]:
    """The possible numbers of rows: with the last axis as the components of a row, or with one component per row."""
    found = []
    if shape and (shape[-1] in components or shape[-1] is None):
        found.append(_product(shape[:-1]))
    if 1 in components:
        found.append(_product(shape))
    return [rows for rows in found if rows != 0]


def _product(sizes: Shape) -> int | None:
    return None if None in sizes else math.prod(size or 0 for size in sizes)


def _shape_text(shape: Shape) -> str:
    sizes = ", ".join("n" if size is None else str(size) for size in shape)
    return f"({sizes},)" if len(shape) == 1 else f"({sizes})"
