"""The `[presets.NAME]` and `[animations."NAME.PARAMETER"]` tables, whose keys name parameters as `--set` does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError
from ..params import Params, ParamSpec, hint, shown, unknown, with_hint
from .locate import KeyPath
from .schema import Animation, LayerSpec, ModelSpec
from .settings import entry
from .tables import Reader, name_objection

ANIMATED = ("number", "integer", "angle", "vector", "color")  # kinds of parameter that can be animated


@dataclass(frozen=True)
class Named:
    """The parameters that a key may name: those of the view, and of models and layers without problems."""

    values: Mapping[str, Any]  # of the whole file
    models: Mapping[str, ModelSpec]
    layers: Mapping[str, LayerSpec]
    view: type[Params]

    def spec(self, path: KeyPath) -> ParamSpec | None:
        """The spec of the parameter at `path`; None if its owner has problems. Raises `ParameterError`."""
        owner, name = list(path[:-1]), path[-1] if path else ""
        found = self._class(owner)
        if found is None:
            return None
        specs = {spec.name: spec for spec in found.specs()}
        if name not in specs:
            raise ParameterError(with_hint(f"unknown parameter {shown(name)}", hint(str(name), specs)))
        return specs[str(name)]

    def _class(self, owner: list[str | int]) -> type[Params] | None:
        match owner:
            case ["view"]:
                return self.view
            case ["models", str(name)]:
                return self._named(name, "models", {key: spec.params for key, spec in self.models.items()})
            case ["layers", str(name)]:
                return self._named(name, "layers", {key: spec.style for key, spec in self.layers.items()})
        raise ParameterError('expected NAME.PARAMETER, such as "galaxy.softening", "layers.stars.size" or "view.bloom"')

    def _named(self, name: str, section: str, sound: Mapping[str, Params]) -> type[Params] | None:
        if name in sound:
            return type(sound[name])
        table = self.values.get(section)
        known = table if isinstance(table, dict) else {}
        if name in known:
            return None
        raise ParameterError(unknown(section.removesuffix("s"), name, known))


def read_presets(values: Mapping[str, Any], named: Named, reader: Reader) -> dict[str, dict[KeyPath, Any]]:
    """Every preset, by name: its values by the path of their parameters."""
    found = {}
    for name, table in reader.tables(values, ("presets",)).items():
        if objection := name_objection("preset", name):
            reader.problems.at_key(("presets", name), objection)
        found[name] = _preset(table, ("presets", name), named, reader)
    return found


def read_animations(values: Mapping[str, Any], named: Named, reader: Reader) -> dict[KeyPath, Animation]:
    """Every animation, by the path of its parameter."""
    found: dict[KeyPath, Animation] = {}
    tables = reader.tables(values, ("animations",))
    for key in tables:
        at = ("animations", key)
        spec, path = _parameter(key, at, found, named, reader)
        checked = reader.section(Animation, tables, at)
        if spec is None or checked.params is None or not checked.sound:
            continue
        if not can_be_animated(spec):
            reason = "a change of it rebuilds the model" if spec.rebuild else f"it is a {spec.kind}"
            reader.problems.at_key(at, f"{spec.name} cannot be animated: {reason}")
        elif objection := range_objection(spec, checked.params.range):
            reader.problems.at_value((*at, "range"), objection)
        found[path] = checked.params
    return found


def can_be_animated(spec: ParamSpec) -> bool:
    """Whether a parameter can be animated: it must be numeric, and must not rebuild its model."""
    return spec.kind in ANIMATED and not spec.rebuild


def range_objection(spec: ParamSpec, ends: tuple[Any, Any]) -> str:
    """Why a parameter cannot be animated between these values; empty if it can."""
    lengths = [len(end) if isinstance(end, tuple) else 1 for end in ends]
    if any(count != spec.length for count in lengths):
        kind = {"color": "two colors", "vector": f"two vectors of {spec.length}"}.get(spec.kind, "two numbers")
        return f"the range of {spec.name} is {kind}"
    components = [value for end in ends for value in (end if isinstance(end, tuple) else (end,))]
    low, high = min(components), max(components)
    if spec.min is not None and low < spec.min:
        return f"{shown(low)} is below the minimum {shown(spec.min)}"
    if spec.max is not None and high > spec.max:
        return f"{shown(high)} is above the maximum {shown(spec.max)}"
    return ""


def _preset(table: Mapping[str, Any], at: KeyPath, named: Named, reader: Reader) -> dict[KeyPath, Any]:
    found: dict[KeyPath, Any] = {}
    for key, assigned in table.items():
        if isinstance(assigned, dict):
            example = '"galaxy.softening" = 0.1'
            reader.problems.at_key((*at, key), f"expected a value; a key with a dot in it needs quotes: {example}")
            continue
        spec, path = _parameter(key, (*at, key), found, named, reader)
        for value in reader.value(spec, assigned, (*at, key)) if spec else ():
            found[path] = value
    return found


def _parameter(
    key: str, at: KeyPath, others: Mapping[KeyPath, Any], named: Named, reader: Reader
) -> tuple[ParamSpec | None, KeyPath]:
    path = entry(key)
    try:
        if path in others:
            raise ParameterError("this is set twice")
        return named.spec(path), path
    except ParameterError as error:
        reader.problems.at_key(at, str(error))
        return None, path
