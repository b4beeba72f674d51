"""Checks of edits: values that are refused, animations that are impossible, and edits that a file overrules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ParameterError
from ..params import Params, accept, same
from ..scene import Animation, Scene
from ..scene.preset_tables import can_be_animated, range_objection
from .merging import MISSING, Conflict, text_of
from .parameters import Key, Values, file_values, is_setting, spec_of


def impossible_animations(owners: Mapping[str, Params], animations: Mapping[Key, Animation]) -> dict[Key, str]:
    """The parameters that cannot be animated like this, and why."""
    found: dict[Key, str] = {}
    for key, animation in animations.items():
        try:
            spec = spec_of(owners, key)
            objection = range_objection(spec, animation.range) if can_be_animated(spec) else "it cannot be"
        except ParameterError as error:
            objection = str(error)
        if objection:
            found[key] = objection
    return found


def refused_values(owners: Mapping[str, Params], values: Values) -> dict[Key, str]:
    """The values that their parameters do not accept, each alone or all of one owner together, and why."""
    refused: dict[Key, str] = {}
    fitting: dict[str, dict[str, Any]] = {}
    for key, value in values.items():
        try:
            accepted = accept(spec_of(owners, key), value)
            if not is_setting(key):
                fitting.setdefault(key.owner, {})[key.name] = accepted
        except ParameterError as error:
            refused[key] = str(error)
    for owner, accepted in fitting.items():
        try:
            owners[owner].with_values(accepted)
        except ParameterError as error:
            refused |= {Key(owner, name): str(error) for name in accepted}
    return refused


def overruled(before: Scene, after: Scene, ours: Values, now: Values) -> list[str]:
    """Notes on edited values that the file changed or removed: `ours` while it was `before`, `now` as it is `after`."""
    base, theirs = file_values(before), file_values(after)
    notes = []
    for key, value in ours.items():
        if same(value, base.get(key, MISSING)):
            continue
        name, there = ".".join(map(str, key.path)), theirs.get(key, MISSING)
        if key not in now:
            notes.append(f"{name}: was {text_of(value)} here, and is gone from the file")
        elif not same(now[key], value):
            notes.append(f"{name}: {text_of(value)} is no longer allowed; it is {text_of(now[key])}")
        elif not same(there, base.get(key, MISSING)) and not same(there, value):
            notes.append(str(Conflict(name, value, there)))
    return notes
