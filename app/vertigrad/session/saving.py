"""What of a session is not in its scene's file yet, and how it gets there."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..errors import FileChanged, FileProtected, InputError, ParameterError
from ..params import Auto, ParamSpec, accept, parse_color, same
from ..renderer.looks import SET
from ..renderer.view import View, view_of
from ..scene import Animation, Scene, load, save
from ..scene.files import find
from ..scene.locate import KeyPath
from ..scene.settings import parse, shortest
from .parameters import LOOK, Key, as_read, each, key_at

if TYPE_CHECKING:
    from .commands import Command
    from .session import Session

Changes = dict[KeyPath, Any]
_MISSING = object()


@dataclass(frozen=True)
class Question:
    """What the user has to decide. `then` is what was to be done and waits for the answer; None if that is all.

    "leave": there are changes that would be lost. "changed": the file is not what it was when it was read. "name": it
    may not be written where it is, another name is needed. "replace": there is a file of that name. "code": the scene
    runs Python that was not allowed to run.
    """

    about: Literal["leave", "changed", "name", "replace", "code"]
    reason: str
    then: Command | None = None


def unsaved(session: Session) -> bool:
    """Whether the user changed something that the scene's file does not have.

    What the command line set counts only from when it is changed again; when it is saved, it is saved too.
    """
    tweaks, scene = session.tweaks, session.scene
    read = as_read(scene)
    disk: dict[Key, Any] | None = None
    for key, value in tweaks.differing(read).items():
        disk = on_disk(scene, session.sets) if disk is None else disk
        if not same(value, disk.get(key, _MISSING)):
            return True
    presets, renames = _presets(session)
    return bool(presets or renames or _animations(session) or _beside(session))


def save_scene(session: Session, target: Path | None = None, overwrite: bool = False) -> None:
    """Write what was changed into the scene's file, or into a copy of it at `target`, where the session then lives.

    Raises as `scene.save`; then file and session are as they were.
    """
    scene, changes, renames = session.scene, *entries(session)
    sets = tuple(text for text in session.sets if parameter_of(scene, text) is None and parse(text).path not in changes)
    seed = None if any(path[0] == "models" and path[-1] == "seed" for path in changes) else session.seed
    save.save(
        scene,
        changes,
        renames=renames,
        target=target,
        overwrite=overwrite,
        check=lambda made: load(made, sets=sets, seed=seed),
    )
    path = scene.path if target is None else target
    session.scene = session.stage.scene = made = session.sizes.settled(load(path, sets=sets, seed=seed))
    session.origin = replace(session.origin, path=made.path, sets=sets, seed=seed)
    session.cameras.reopen(made, other=False)
    session.tweaks.scene_saved()


def entries(session: Session) -> tuple[Changes, dict[KeyPath, str]]:
    """Every entry that the scene's file has otherwise, by its path, with None for what is to go; and other names."""
    scene = session.scene
    disk, folder = on_disk(scene, session.sets), scene.path.parent
    specs = {key: spec for key, spec, _ in each(as_read(scene))}
    changes: Changes = {
        key.path: plain(specs[key], value, folder)
        for key, value in session.tweaks.values().items()
        if key in specs and not same(value, disk.get(key, _MISSING))
    }
    changes = _beneath_look(session, changes)
    presets, renames = _presets(session)
    return {**changes, **presets, **_animations(session), **_beside(session)}, renames


def _beneath_look(session: Session, changes: Changes) -> Changes:
    """With another look, what the file must say besides: what differs from it, and nothing that it sets by itself."""
    look = changes.get(LOOK.path)
    if look is None:
        return changes
    written, folder, values = (
        tomllib.loads(session.scene.places.text),
        session.scene.path.parent,
        session.tweaks.values(),
    )
    source, specs = view_of(look), {spec.name: spec for spec in View.specs()}
    found = dict(changes)
    for key in (Key("view", name) for name in SET):
        found.pop(key.path, None)
        given, spec = _entry(written, key.path), specs[key.name]
        base = getattr(source, key.name) if given is _MISSING else _read(spec, given, folder)
        if not same(values[key], base):
            found[key.path] = plain(spec, values[key], folder)
    return found


def on_disk(scene: Scene, sets: tuple[str, ...]) -> dict[Key, Any]:
    """The value of each parameter in the file itself, as it was read: without what the command line set."""
    values = {key: value for key, _, value in each(as_read(scene))}
    specs = {key: spec for key, spec, _ in each(as_read(scene))}
    given = [key for text in sets if (key := parameter_of(scene, text)) is not None]
    written = tomllib.loads(scene.places.text) if given else {}
    for key in given:
        values[key] = _read(specs[key], _entry(written, key.path), scene.path.parent)
    return values


def plain(spec: ParamSpec, value: Any, folder: Path) -> Any:
    """A parameter's value as a scene file in `folder` has it."""
    if isinstance(value, Auto):
        return "auto"
    if isinstance(value, Path):
        return save.named(value, folder)
    if spec.kind == "color" and isinstance(value, tuple):
        code = "#" + "".join(f"{round(part * 255):02x}" for part in value)
        return code if parse_color(code) == value else list(value)
    return list(value) if isinstance(value, tuple) else value


def parameter_of(scene: Scene, text: str) -> Key | None:
    """The parameter that a `--set` is about; None if it is about something else."""
    path = parse(text).path
    key = key_at(path) if len(path) > 1 else None
    owners = as_read(scene)
    known = key is not None and key.owner in owners and key.name in type(owners[key.owner]).model_fields
    return key if known else None


def _entry(values: Any, path: KeyPath) -> Any:
    for part in path:
        values = values.get(part, _MISSING) if isinstance(values, dict) else _MISSING
    return values


def _read(spec: ParamSpec, given: Any, folder: Path) -> Any:
    """What the file says; `_MISSING` if that is nothing, or something that cannot be."""
    try:
        if given is _MISSING:
            return _MISSING if spec.required else spec.default
        return accept(spec, find(given, folder) if spec.kind == "file" else given)
    except ParameterError:
        return _MISSING


def _presets(session: Session) -> tuple[Changes, dict[KeyPath, str]]:
    scene, folder = session.scene, session.scene.path.parent
    specs = {key: spec for key, spec, _ in each(as_read(scene))}
    presets = session.tweaks.kept.presets
    origins = {preset.origin for preset in presets}
    changes: Changes = {("presets", name): None for name in scene.presets if name not in origins}
    renames: dict[KeyPath, str] = {
        ("presets", preset.origin): preset.name for preset in presets if preset.origin not in (None, preset.name)
    }
    for preset in presets:
        before = scene.presets.get(preset.origin or "", {}) if preset.origin else {}
        after = {key.path: value for key, value in preset.values.items() if key in specs}
        for path, value in after.items():
            if path not in before or before[path] != value:
                changes["presets", preset.name, _written(scene, preset.origin, path)] = plain(
                    specs[key_at(path)], value, folder
                )
        for path in before.keys() - after.keys():
            changes["presets", preset.name, _written(scene, preset.origin, path)] = None
    return changes, renames


def _written(scene: Scene, preset: str | None, path: KeyPath) -> str:
    """How the file names a parameter in a preset, or would."""
    return _spelled(scene, ("presets", preset or ""), path)


def _spelled(scene: Scene, table: KeyPath, path: KeyPath) -> str:
    forms = (shortest(path), ".".join(map(str, path)))
    return next((form for form in forms if (*table, form) in scene.places.keys), forms[0])


def _animations(session: Session) -> Changes:
    scene = session.scene
    now = {key.path: animation for key, animation in session.tweaks.kept.animations.items()}
    changes: Changes = {}
    for path in {**scene.animations, **now}:
        table = ("animations", _spelled(scene, ("animations",), path))
        if path not in now:
            changes[table] = None
        else:
            changes |= _differing(table, now[path], scene.animations.get(path))
    return changes


def _differing(table: KeyPath, now: Animation, before: Animation | None) -> Changes:
    entries = {spec.name: (spec, getattr(now, spec.name)) for spec in now.specs()}
    return {
        (*table, name): plain(spec, value, Path())
        for name, (spec, value) in entries.items()
        if (value != getattr(before, name) if before else value != spec.default)
    }


def _beside(session: Session) -> Changes:
    return {path: value for entries in session.beside for path, value in entries().items()}


def settings_to_save(session: Session) -> Changes:
    """Seeds and substeps that the user changed; with one seed all, since that of the command line is given up then."""
    changes: Changes = {}
    for name, spec in session.stage.specs.items():
        read = session.scene.models.get(name, spec)
        if spec.seed != read.seed:
            changes["models", name, "seed"] = spec.seed
        if spec.substeps != read.substeps:
            changes["models", name, "substeps"] = spec.substeps
    if session.seed is not None and any(path[-1] == "seed" for path in changes):
        changes |= {("models", name, "seed"): spec.seed for name, spec in session.stage.specs.items()}
    return changes


def ask_before(session: Session, command: Command) -> bool:
    """Whether `command`, which would lose what is not saved, has to wait until the user said what becomes of that."""
    if not session.unsaved:
        return False
    session.question = Question("leave", f"{session.scene.path.name} has changes that are not saved.", command)
    return True


def try_to_save(session: Session, target: Path | None, overwrite: bool, then: Command | None) -> None:
    """Save; where the user has to decide something first, ask. `then` is done after it. Raises `InputError`."""
    try:
        save_scene(session, target, overwrite)
    except FileChanged as error:
        if target is not None and target != session.scene.path:
            raise InputError(f"{error}") from error
        told = "Reload takes over what is new in it and keeps what you changed here; Overwrite undoes it."
        session.question = Question("changed", f"{error}. {told}", then)
        return
    except FileProtected as error:
        session.question = Question("name", f"{error}.", then)
        return
    session.question = None
    if then is not None:
        session.post(then)
