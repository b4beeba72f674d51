"""The `[models.NAME]` tables: first each separately, then their inputs from other models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ..errors import CodeError, InputError, ParameterError
from ..models.base import Model, OutputSpec
from ..models.inside import InnerTensor, resolved
from ..models.registry import declared
from ..params import Params, ParamSpec, described, shown, unknown
from . import code
from .files import find
from .link import Links
from .locate import KeyPath
from .problems import SceneProblems
from .schema import MODEL_KEYS, ModelSettings, ModelSpec, OutputRef, UiHint
from .tables import Checked, Reader

MAX_OUTPUT_BYTES = 2 << 30  # the maximum size of a binding with common drivers
_WITH_SLIDER = ("number", "integer", "angle", "vector", "interval")  # kinds of parameter
MAX_TOTAL_BYTES = 64 << 30  # more than the memory of GPUs with a display


@dataclass(frozen=True)
class Draft:
    """A model before its inputs are read: `spec` has no inputs, and is None if its parameters have problems.

    `outputs` is None if they are unknown. Not `sound`: problems in it have been reported.
    """

    name: str
    spec: ModelSpec | None
    outputs: Mapping[str, OutputSpec] | None
    inputs: Mapping[str, Any]
    sound: bool


def read_drafts(values: Mapping[str, Any], types: Mapping[str, type[Model]], reader: Reader) -> list[Draft]:
    """Every model whose type is known. Raises `TypeError` for a type whose parameters no file can name."""
    found = []
    for name, table in reader.named_tables(values, "models").items():
        kind = _kind(table, ("models", name), types, reader)
        if kind is not None:
            found.append(_draft(name, table["type"], kind, table, reader))
    _refuse_too_large([draft for draft in found if draft.sound], reader.problems)
    return found


def known_type(
    table: Mapping[str, Any], path: KeyPath, word: str, types: Mapping[str, Any], problems: SceneProblems
) -> str | None:
    """The table's `type` if it exists; otherwise None, and a problem is reported."""
    type_name = table.get("type")
    if type_name is None:
        problems.at_key(path, f"type must be given; known: {', '.join(sorted(types))}")
    elif not isinstance(type_name, str):
        problems.at_value((*path, "type"), f"expected the name of a type, got {described(type_name)}")
    elif type_name in types:
        return type_name
    else:
        problems.at_value((*path, "type"), unknown(f"type of {word}", type_name, types))
    return None


def _kind(
    table: Mapping[str, Any], path: KeyPath, types: Mapping[str, type[Model]], reader: Reader
) -> type[Model] | None:
    """The class of a model: a built-in one, or one of a Python file; otherwise None, and a problem is reported."""
    match = code.PATTERN.fullmatch(str(table.get("type")))
    if match is None:
        type_name = known_type(table, path, "model", types, reader.problems)
        return None if type_name is None else types[type_name]
    try:
        kind = code.model_class(find(match[1], reader.folder), match[2])
        if taken := sorted(kind.Params.model_fields.keys() & {*MODEL_KEYS, *kind.tables}):
            raise CodeError(f"{match[2]}.Params: {', '.join(taken)} means something else in a scene file")
        return kind
    except (ParameterError, CodeError) as error:
        reader.problems.at_value((*path, "type"), str(error))
        return None


def finish(drafts: Sequence[Draft], links: Links, problems: SceneProblems) -> dict[str, ModelSpec]:
    """The models with their inputs; those without parameters, which have been reported, are omitted."""
    return {
        draft.name: replace(draft.spec, inputs=_inputs(draft.spec, draft.inputs, links, problems))
        for draft in drafts
        if draft.spec is not None
    }


def inner_of(drafts: Sequence[Draft]) -> Callable[[str], Mapping[str, InnerTensor] | None]:
    """The tensors inside each model; None if they are known only when it runs, or if its parameters have problems."""
    specs = {draft.name: draft.spec for draft in drafts if draft.spec is not None and draft.sound}

    @cache
    def find(model: str) -> Mapping[str, InnerTensor] | None:
        spec = specs.get(model)
        return spec.kind.inner_tensors(spec.params) if spec is not None else None

    return find


def _draft(name: str, type_name: str, kind: type[Model], table: dict[str, Any], reader: Reader) -> Draft:
    path = ("models", name)
    kind, faults = declared(kind, table, code.SceneFiles(reader.folder, reader.opened))
    for fault in faults:
        (reader.problems.at_value if fault.in_value else reader.problems.at_key)((*path, *fault.path), fault.message)
    fields = kind.Params.model_fields
    if taken := fields.keys() & set(MODEL_KEYS):
        raise TypeError(f"{kind.__name__}.Params: {', '.join(taken)} means something else in a scene file")
    reader.refuse_unknown(table, (*fields, *MODEL_KEYS, *kind.tables), path, "parameter")
    settings = reader.params(ModelSettings, table, path).params or ModelSettings()
    checked = reader.params(kind.Params, table, path)
    checked = replace(checked, sound=checked.sound and not faults)
    hints = read_hints(kind.Params, table, (*path, "ui"), reader)
    ablated = _ablated(kind, checked, table, (*path, "ablate"), reader)
    outputs = _outputs(kind, checked, path, reader.problems)
    spec = None
    if checked.params is not None:
        found = {"ui": hints, "outputs": outputs or {}, "ablated": ablated, **dict(settings)}
        spec = ModelSpec(name, type_name, kind, checked.params, **found)
    return Draft(name, spec, outputs, reader.table(table, (*path, "inputs")), checked.sound)


def _ablated(
    kind: type[Model], checked: Checked[Params], table: dict[str, Any], path: KeyPath, reader: Reader
) -> dict[str, tuple[int, ...]]:
    """The units that are set to zero, by the names of tensors inside the model."""
    found: dict[str, tuple[int, ...]] = {}
    for name, units in reader.table(table, path).items():
        if not isinstance(units, list) or any(type(unit) is not int or unit < 0 for unit in units):
            reader.problems.at_value((*path, name), f"expected numbers of units from 0, got {described(units)}")
            continue
        try:
            known = kind.ablatable(checked.params) if checked.sound else {}
            if known is None:
                reader.problems.at_key(path, f"{table['type']}: only units inside of networks can be set to zero")
            elif known:
                found[resolved(name, known)] = tuple(units)
        except InputError as error:
            reader.problems.at_key((*path, name), str(error))
    return found


def _outputs(
    kind: type[Model], checked: Checked[Params], path: KeyPath, problems: SceneProblems
) -> Mapping[str, OutputSpec] | None:
    """The outputs of the model; without sizes if its parameters have problems; None if they are unknown."""
    if checked.params is None:
        return None
    try:
        outputs = kind.output_specs(checked.params)
    except InputError as error:
        if checked.sound:
            problems.at_key(path, str(error))
        return None
    if checked.sound:
        return outputs
    return {name: replace(spec, shape=(None,) * len(spec.shape)) for name, spec in outputs.items()}


def _refuse_too_large(drafts: Sequence[Draft], problems: SceneProblems) -> None:
    total = 0
    for draft in drafts:
        sizes = {name: spec.nbytes for name, spec in (draft.outputs or {}).items()}
        total += sum(sizes.values())
        largest = max(sizes, key=lambda name: sizes[name], default="")
        if largest and sizes[largest] > MAX_OUTPUT_BYTES:
            message = f"its output {largest} would take {_gib(sizes[largest])}"
            problems.at_key(("models", draft.name), f"{message}; one tensor has at most {_gib(MAX_OUTPUT_BYTES)}")
    if total > MAX_TOTAL_BYTES:
        message = f"all outputs together would take {_gib(total)}"
        problems.at_key(("models",), f"{message}; at most {_gib(MAX_TOTAL_BYTES)} are allowed")


def _gib(nbytes: int) -> str:
    return f"{nbytes / (1 << 30):,.1f} GiB"


def _inputs(spec: ModelSpec, inputs: Mapping[str, Any], links: Links, problems: SceneProblems) -> dict[str, OutputRef]:
    path = ("models", spec.name, "inputs")
    found = {}
    for name, value in inputs.items():
        if name in spec.kind.own_inputs:
            continue
        reference = _input(spec, (*path, name), value, links, problems)
        if reference is not None:
            found[name] = reference
    for name in sorted(spec.kind.required_inputs - inputs.keys()):
        doc = spec.kind.inputs.get(name, "")
        problems.at_key(path[:2], f"needs the input {name}" + (f" ({doc})" if doc else ""))
    return found


def _input(spec: ModelSpec, path: KeyPath, value: Any, links: Links, problems: SceneProblems) -> OutputRef | None:
    if not spec.kind.inputs:
        problems.at_key(path, f'a model of type "{spec.type}" takes no inputs')
    elif path[-1] not in spec.kind.inputs:
        problems.at_key(path, unknown("input", str(path[-1]), spec.kind.inputs))
    elif not isinstance(value, str):
        problems.at_value(path, f'expected "MODEL.OUTPUT", got {described(value)}')
    else:
        return links.reference(value, path)
    return None


# hints for the GUI ----------------------------------------------------------------------------------------------------


def read_hints(kind: type[Params], values: Mapping[str, Any], path: KeyPath, reader: Reader) -> dict[str, UiHint]:
    """The hints in the `ui` table at `path` of a model whose parameters are `kind`."""
    specs = {spec.name: spec for spec in kind.specs()}
    tables = reader.tables(values, path)
    reader.refuse_unknown(tables, specs, path, "parameter")
    hints = {}
    for name in tables.keys() & specs.keys():
        checked = reader.section(UiHint, tables, (*path, name))
        if checked.params is not None and checked.sound:
            _check(checked.params, specs[name], (*path, name), reader)
            hints[name] = checked.params
    return {name: hints[name] for name in specs if name in hints}


def _check(ui: UiHint, spec: ParamSpec, path: KeyPath, reader: Reader) -> None:
    if spec.kind not in _WITH_SLIDER:
        if ui.model_fields_set & {"min", "max", "scale"}:
            reader.problems.at_key(path, f"{spec.name} has no slider, so only a label can be given")
        return
    for end, limit, beyond in (("min", spec.min, "below"), ("max", spec.max, "above")):
        value = getattr(ui, end)
        if value is not None and limit is not None and (value < limit if end == "min" else value > limit):
            reader.problems.at_value((*path, end), f"{shown(value)} is {beyond} the parameter's limit {shown(limit)}")
    low = next((end for end in (ui.min, spec.slider_min, spec.min) if end is not None), None)
    if ui.scale == "log" and (low is None or low <= 0):
        reader.problems.at_value((*path, "scale"), "a log scale needs a min above 0")
