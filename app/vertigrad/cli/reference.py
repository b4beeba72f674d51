"""`vertigrad scenes`, `models` and `layers`: what there is to choose from, and what each takes and gives."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import rich.table
import typer
from rich.text import Text

from .. import resources
from ..errors import InputError
from .options import console

if TYPE_CHECKING:
    from ..models import Model
    from ..params import ParamSpec

TypeArgument = Annotated[str, typer.Argument(metavar="[TYPE]", help="show this type whole; left out, all are listed")]


class Table(NamedTuple):
    """Headings of the columns, and rows with a text for each."""

    headings: tuple[str, ...]
    rows: list[tuple[str, ...]]


def scenes() -> None:
    """List the scenes that come with Vertigrad."""
    rows = []
    for path in resources.scenes():
        scene = tomllib.loads(path.read_text(encoding="utf-8"))
        rows.append((path.stem, scene.get("title", ""), scene.get("description", "")))
    _print(Table(("scene", "title", "description"), rows))


def models(type: TypeArgument = "") -> None:
    """List the types of models, or show one: parameters, inputs, outputs, diagnostics, and scenes that use it."""
    from ..models import registry

    model = _listed_or_found("model", type, registry.types())
    if model is None:
        return
    for table in model_tables(type, model):
        _print(table)
    if used := scenes_with(type):
        console.print(f"scenes: {', '.join(path.stem for path in used)}")


def model_tables(type: str, model: type[Model]) -> list[Table]:
    """The parameters, inputs, outputs and diagnostics of a type of model; tables without rows are left out."""
    required = {True: "required; ", False: ""}
    inputs = [(name, required[name in model.required_inputs] + text) for name, text in model.inputs.items()]
    diagnostics = [
        (name, spec.unit, spec.doc, *((f"{limit.bound:g}", limit.advice) if limit else ("", "")))
        for name, spec in model.diagnostic_specs.items()
        for limit in [model.limits.get(name)]
    ]
    tables = [
        _parameters(model.Params.specs()),
        Table(("input", "what it is"), inputs),
        _outputs(type, model),
        Table(("diagnostic", "unit", "what it measures", "limit", "above the limit"), diagnostics),
    ]
    return [table for table in tables if table.rows]


def scenes_with(type: str) -> list[Path]:
    """The scenes that come with Vertigrad and have a model of this type."""
    return [path for path in resources.scenes() if any(each.get("type") == type for each in _models_of(path))]


def layers(type: TypeArgument = "") -> None:
    """List the types of layers, or show the attributes and parameters of one."""
    from ..renderer.layers import types

    layer = _listed_or_found("layer", type, types())
    if layer is None:
        return
    rows = [
        (name, "required" if spec.required else "", "/".join(map(str, spec.components)), spec.doc)
        for name, spec in layer.ATTRIBUTES.items()
    ]
    _print(Table(("attribute", "", "components", "what it is"), rows))
    _print(_parameters(layer.Style.specs()))


def _listed_or_found(what: str, name: str, known: Mapping[str, Any]) -> Any:
    """Print the heading of a type and return it; without a name list all types, and return None."""
    from ..params import with_hint
    from ..params.suggest import closest

    if not name:
        return _print(Table(("type", "what it is"), [(key, summary(kind)) for key, kind in known.items()]))
    if name in known:
        console.print(f"{name}: {summary(known[name])}\n")
        return known[name]
    near = closest(name, known)
    raise InputError(
        with_hint(
            f"there is no {what} of type {name}", f'did you mean "{near}"?' if near else f"known: {', '.join(known)}"
        )
    )


def summary(kind: type[Any]) -> str:
    """The first sentence of its documentation."""
    return " ".join((getdoc(kind) or "").split("\n\n")[0].split())


def _models_of(scene: Path) -> Iterable[Mapping[str, Any]]:
    return tomllib.loads(scene.read_text(encoding="utf-8"))["models"].values()


def _outputs(type: str, model: type[Model]) -> Table:
    """Its outputs with default parameters, or as in the first scene that uses it if some parameters are required.

    Without rows for a type that needs a file, and of which there is no such scene.
    """
    from ..scene import load

    specs, shape = {}, "shape"
    with suppress(InputError):
        specs = model.output_specs(model.Params.parse({}))
    if not specs and (used := scenes_with(type)):
        specs = next(each.outputs for each in load(used[0]).models.values() if each.type == type)
        shape = f"shape in {used[0].stem}"
    rows = [(name, _shape(spec.shape), spec.dtype, spec.doc) for name, spec in specs.items()]
    return Table(("output", shape, "type", "what it is"), rows)


def _shape(shape: tuple[int | None, ...]) -> str:
    return " x ".join("…" if size is None else str(size) for size in shape) or "1"


def _parameters(specs: Iterable[ParamSpec]) -> Table:
    rows = []
    for spec in specs:
        limits = "" if spec.min is None and spec.max is None else f"{_number(spec.min)} to {_number(spec.max)}"
        rows.append((spec.name, _default(spec), ", ".join(spec.choices) or limits, spec.unit, spec.doc))
    return Table(("parameter", "default", "values", "unit", "what it is"), rows)


def _number(value: float | None) -> str:
    return "…" if value is None else f"{value:.10g}"


def _default(spec: ParamSpec) -> str:
    if spec.required:
        return "required"
    if spec.default is None:
        return "none"
    if isinstance(spec.default, tuple):
        return ", ".join(f"{value:g}" for value in spec.default)
    return str(spec.default).lower() if isinstance(spec.default, bool) else str(spec.default)


def _print(table: Table) -> None:
    if not table.rows:
        return
    drawn = rich.table.Table(*table.headings, box=None, pad_edge=False, header_style="bold")
    for row in table.rows:
        drawn.add_row(*map(Text, row))
    console.print(drawn)
    console.print()
