"""The `[models.NAME.ui.PARAMETER]` tables: how the GUI shows a parameter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..params import Params, ParamSpec, shown
from .locate import KeyPath
from .schema import UiHint
from .tables import Reader

_WITH_SLIDER = ("number", "integer", "angle", "vector", "interval")


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
        given = getattr(ui, end)
        if given is not None and limit is not None and (given < limit if end == "min" else given > limit):
            reader.problems.at_value((*path, end), f"{shown(given)} is {beyond} the parameter's limit {shown(limit)}")
    low = next((end for end in (ui.min, spec.slider_min, spec.min) if end is not None), None)
    if ui.scale == "log" and (low is None or low <= 0):
        reader.problems.at_value((*path, "scale"), "a log scale needs a min above 0")
