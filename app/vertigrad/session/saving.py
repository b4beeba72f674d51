"""Unsaved edits of a session, and how they are written into its scene's file."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import FileChanged, FileProtected, InputError, ParameterError
from ..params import ParamSpec, accept, same
from ..renderer.camera import OrbitCamera
from ..renderer.themes import THEMED
from ..renderer.view import View, themed_view
from ..scene import Animation, Scene, load, save, viewpoints
from ..scene.edit import Uneditable, edited
from ..scene.files import find
from ..scene.locate import KeyPath
from ..scene.settings import path_in
from ..scene.viewpoints import BOOKMARKS, KEYFRAMES
from .merging import MISSING
from .naming import moved, plain, spelled
from .parameters import THEME, Key, as_read, key_at, settings_of, specs_of, values_of
from .questions import Question
from .scene_extras import same_view
from .shown_tensors import changed_tensors, new_tensors

if TYPE_CHECKING:
    from .command import Command
    from .session import Session

Changes = dict[KeyPath, Any]


@dataclass(frozen=True)
class Entries:
    """Changes to a scene's file: `values` by their paths, None to remove an entry; `renames` gives tables other names,
    which `values` uses; `removed` are tables that are removed before that.
    """

    values: Changes
    renames: dict[KeyPath, str]
    removed: tuple[KeyPath, ...]

    def __bool__(self) -> bool:
        return bool(self.values or self.renames or self.removed)


def unsaved(session: Session) -> bool:
    """Whether the user changed something that the scene's file does not have.

    Values of the command line count only once they are changed; they are saved with the other changes.
    """
    if session.source.memory is not None:
        return False  # there is no file
    scene_edits, scene = session.scene_edits, session.scene
    read = as_read(scene)
    disk: dict[Key, Any] | None = None
    for key, value in scene_edits.differing(read).items():
        disk = on_disk(scene, session.source.sets) if disk is None else disk
        if not same(value, disk.get(key, MISSING)):
            return True
    others = _presets(session, scene.path.parent), _others(session)
    return any(map(bool, others))


def save_scene(session: Session, target: Path | None = None, overwrite: bool = False) -> None:
    """Write what was changed into the scene's file, or into a copy of it at `target`, where the session then lives.

    Raises as `scene.save`; then file and session are as they were.
    """
    scene, origin = session.scene, session.source
    if origin.memory is not None:
        raise InputError("this scene is made by a script and has no file; `viewer.save(path)` in the script writes one")
    found = entries(session, scene.path.parent if target is None else target.absolute().parent)
    changes = found.values
    unset = (text for text in origin.sets if parameter_of(scene, text) is None)
    sets = tuple(text for text in unset if path_in(scene, text) not in changes)
    seed = None if any(path[0] == "models" and path[-1] == "seed" for path in changes) else origin.seed
    if target is None and not overwrite and origin.path.resolve() != scene.path:
        raise FileChanged(f"{origin.path.name} leads to another file since it was read")
    path = origin.path if target is None else target.absolute()
    save.save(
        scene,
        changes,
        renames=found.renames,
        removed=found.removed,
        target=target,
        overwrite=overwrite,
        check=lambda written: load(written, sets=sets, seed=seed),
    )
    origin = replace(origin, path=path, sets=sets, seed=seed)
    session.running.saved(origin.read(session.sizes), origin)


def text_to_save(session: Session) -> str:
    """The text of the scene's file with all changes. Raises `InputError` if its layout does not allow that."""
    found = entries(session)
    try:
        return edited(session.scene.source_map.text, found.values, found.renames, found.removed)
    except Uneditable:
        raise InputError(f"{session.scene.path}: its layout does not allow to change single values") from None


def entries(session: Session, folder: Path | None = None) -> Entries:
    """Every entry of the scene's file that changed, or would have to in another folder.

    Raises `InputError` if a file of that folder could not name a file that the scene reads.
    """
    scene = session.scene
    disk, folder = on_disk(scene, session.source.sets), folder or scene.path.parent
    specs = specs_of(as_read(scene))
    changes: Changes = {
        key.path: plain(specs[key], value, folder)
        for key, value in session.scene_edits.values().items()
        if key in specs and not same(value, disk.get(key, MISSING))
    }
    changes = _beneath_theme(session, changes)
    found = _presets(session, folder)
    new = {("layers", name) for name in new_tensors(session)}
    own = {
        path: value for path, value in changes.items() if path[:2] in new
    }  # after those that begin the layer's table
    values = {path: value for path, value in changes.items() if path not in own} | found.values | _others(session) | own
    if folder.resolve() != scene.path.parent:
        values = moved(scene, session.scene_edits.extras.presets, folder) | values
    return replace(found, values=values)


def _beneath_theme(session: Session, changes: Changes) -> Changes:
    """With another theme, also the values that differ from it, and none that it sets by itself."""
    theme = changes.get(THEME.path)
    if theme is None:
        return changes
    written, folder, values = (
        tomllib.loads(session.scene.source_map.text),
        session.scene.path.parent,
        session.scene_edits.values(),
    )
    source, specs = themed_view(theme), {spec.name: spec for spec in View.specs()}
    found = dict(changes)
    for key in (Key("view", name) for name in THEMED):
        found.pop(key.path, None)
        entry, spec = _entry(written, key.path), specs[key.name]
        base = getattr(source, key.name) if entry is MISSING else _read(spec, entry, folder)
        if not same(values[key], base):
            found[key.path] = plain(spec, values[key], folder)
    return found


def on_disk(scene: Scene, sets: tuple[str, ...]) -> dict[Key, Any]:
    """The value of each parameter in the file itself, as it was read: without what the command line set."""
    values = values_of(as_read(scene))
    specs = specs_of(as_read(scene))
    keys = [key for text in sets if (key := parameter_of(scene, text)) is not None]
    written = tomllib.loads(scene.source_map.text) if keys else {}
    for key in keys:
        values[key] = _read(specs[key], _entry(written, key.path), scene.path.parent)
    return values


def parameter_of(scene: Scene, text: str) -> Key | None:
    """The parameter that a `--set` is about; None if it is about something else."""
    path = path_in(scene, text)
    key = key_at(path) if len(path) > 1 else None
    owners = as_read(scene)
    known = key is not None and key.owner in owners and key.name in type(owners[key.owner]).model_fields
    return key if known else None


def _entry(values: Any, path: KeyPath) -> Any:
    for part in path:
        values = values.get(part, MISSING) if isinstance(values, dict) else MISSING
    return values


def _read(spec: ParamSpec, entry: Any, folder: Path) -> Any:
    """The value of an entry of the file; `MISSING` if there is none, or if it is invalid."""
    try:
        if entry is MISSING:
            return MISSING if spec.required else spec.default
        return accept(spec, find(entry, folder) if spec.kind == "file" else entry)
    except ParameterError:
        return MISSING


def _presets(session: Session, folder: Path) -> Entries:
    scene = session.scene
    specs = specs_of(as_read(scene))
    presets, names = (
        session.scene_edits.extras.presets,
        {one.number: one.name for one in session.scene_edits.file_extras.presets},
    )
    numbers = {preset.number for preset in presets}
    removed = tuple(("presets", name) for number, name in names.items() if number not in numbers)
    renames: dict[KeyPath, str] = {
        ("presets", names[preset.number]): preset.name
        for preset in presets
        if names.get(preset.number, preset.name) != preset.name
    }
    changes: Changes = {}
    for preset in presets:
        name = names.get(preset.number)
        before = scene.presets[name] if name is not None else {}
        after = {key.path: value for key, value in preset.values.items() if key in specs}
        for path in {**after, **before}:
            entry: KeyPath = ("presets", preset.name, spelled(scene, ("presets", name or ""), path))
            if path not in after:
                changes[entry] = None
            elif path not in before or before[path] != after[path]:
                changes[entry] = plain(specs[key_at(path)], after[path], folder)
    return Entries(changes, renames, removed)


def _animations(session: Session) -> Changes:
    scene = session.scene
    now = {key.path: animation for key, animation in session.scene_edits.extras.animations.items()}
    changes: Changes = {}
    for path in {**scene.animations, **now}:
        table = ("animations", spelled(scene, ("animations",), path))
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


def _views(session: Session) -> Changes:
    """Bookmarks and keyframes of the camera."""
    now, before = session.scene_edits.extras, session.scene_edits.file_extras
    bookmarks = _changed_views(BOOKMARKS, now.bookmarks, before.bookmarks)
    keyframes = ({str(frame): view for frame, view in one.keyframes.items()} for one in (now, before))
    return bookmarks | _changed_views(KEYFRAMES, *keyframes)


def _changed_views(section: str, now: Mapping[str, OrbitCamera], before: Mapping[str, OrbitCamera]) -> Changes:
    changes: Changes = {("camera", section, name): None for name in before.keys() - now.keys()}
    for name, camera in now.items():
        if name not in before or not same_view(camera, before[name]):
            changes |= {("camera", section, name, key): value for key, value in viewpoints.entries(camera).items()}
    return changes


def _others(session: Session) -> Changes:
    return {**_animations(session), **_views(session), **_settings(session), **changed_tensors(session)}


def _settings(session: Session) -> Changes:
    """Seeds and substeps that the user changed; with one seed all, since that of the command line no longer holds."""
    read, now = settings_of(session.scene.models), session.scene_edits.settings()
    changes: Changes = {key.path: value for key, value in now.items() if value != read.get(key, value)}
    if session.source.seed is not None and any(path[-1] == "seed" for path in changes):
        changes |= {key.path: value for key, value in now.items() if key.name == "seed"}
    return changes


def ask_before(session: Session, command: Command) -> bool:
    """Whether `command`, which would lose unsaved changes, has to wait until the user decided about them."""
    if not session.unsaved:
        return False
    session.questions.ask(Question("leave", f"{session.scene.path.name} has changes that are not saved.", command))
    return True


def try_to_save(session: Session, target: Path | None, overwrite: bool, then: Command | None) -> None:
    """Save; ask if the user has to decide something first. `then` is carried out after it. Raises `InputError`."""
    try:
        save_scene(session, target, overwrite)
    except FileChanged as error:
        if target is not None and target != session.scene.path:
            raise InputError(f"{error}") from error
        text = "Reload takes over what is new in it and keeps what you changed here; Overwrite undoes it."
        session.questions.ask(Question("changed", f"{error}. {text}", then))
        return
    except FileProtected as error:
        session.questions.ask(Question("name", f"{error}.", then))
        return
    session.questions.saved()
    for command in [*([] if then is None else [then]), *session.questions.nothing_unsaved()]:
        session.post(command)
