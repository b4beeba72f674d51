"""Views by name or as text: the tables of bookmarks and keyframes, and the values of `--camera`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..errors import InputError, ParameterError
from ..params import hint, shown, with_hint
from ..renderer.camera import OrbitCamera
from .locate import KeyPath
from .schema import Bookmark, Camera, Scene
from .tables import Reader, name_objection

BOOKMARKS, KEYFRAMES = "bookmarks", "keyframes"
LAST_FRAME = 10**9  # on which a keyframe may be
FORM = '"x,y,z;x,y,z" (position of the eye; its target), optionally with ";fov=45" or ";orthographic"'
DIGITS, STEEP_DIGITS = 6, 9  # after the distance's first; vertical views need more, since these digits define the yaw
STEEP = math.radians(89.0)


def read_bookmarks(values: Mapping[str, Any], reader: Reader) -> dict[str, Bookmark]:
    """Every bookmark of the `camera` table, by name."""
    camera = values.get("camera")
    tables = reader.tables(camera, ("camera", BOOKMARKS)) if isinstance(camera, dict) else {}
    found = {}
    for name in tables:
        path: KeyPath = ("camera", BOOKMARKS, name)
        if objection := name_objection("bookmark", name):
            reader.problems.at_key(path, objection)
        checked = reader.section(Bookmark, tables, path)
        if checked.params is not None and checked.sound:
            found[name] = checked.params
    return found


def read_keyframes(values: Mapping[str, Any], reader: Reader) -> dict[int, Bookmark]:
    """Every keyframe of the `camera` table, by frame, in their order."""
    camera = values.get("camera")
    tables = reader.tables(camera, ("camera", KEYFRAMES)) if isinstance(camera, dict) else {}
    found = {}
    for name in tables:
        path: KeyPath = ("camera", KEYFRAMES, name)
        if objection := _frame_objection(name):
            reader.problems.at_key(path, objection)
            continue
        checked = reader.section(Bookmark, tables, path)
        if checked.params is not None and checked.sound:
            found[int(name)] = checked.params
    return dict(sorted(found.items()))


def _frame_objection(name: str) -> str:
    is_frame = name.isascii() and name.isdigit() and name == str(int(name)) and int(name) <= LAST_FRAME
    return "" if is_frame else f"a keyframe is named by its frame, from 0 to {LAST_FRAME:,}, such as 120"


def home(scene: Scene) -> OrbitCamera:
    """The camera of the scene."""
    return marked(scene, scene.camera)


def marked(scene: Scene, bookmark: Bookmark | Camera) -> OrbitCamera:
    """The camera at a bookmark; values that it does not set are those of the scene's camera."""
    own = scene.camera
    fov = own.fov if bookmark.fov is None else bookmark.fov
    parallel = own.orthographic if bookmark.orthographic is None else bookmark.orthographic
    return OrbitCamera.from_position(bookmark.position, bookmark.target, fov, own.up, parallel)


def entries(camera: OrbitCamera) -> dict[str, Any]:
    """The camera as a table of a scene file, rounded to visible precision."""
    digits = STEEP_DIGITS if abs(camera.pitch) > STEEP else DIGITS
    decimals = digits - math.floor(math.log10(camera.distance))
    position, target = (
        tuple(round(value, decimals) + 0.0 for value in point) for point in (camera.position, camera.target)
    )
    return {
        "position": position,
        "target": target,
        "fov": round(camera.fov, 4),
        "orthographic": camera.orthographic,
    }


def camera_text(camera: OrbitCamera) -> str:
    """The exact camera as a value of `--camera`."""
    points = ";".join(",".join(f"{value + 0.0!r}" for value in point) for point in (camera.position, camera.target))
    return f"{points};fov={camera.fov!r}" + (";orthographic" if camera.orthographic else "")


def camera_from(text: str, scene: Scene) -> OrbitCamera:
    """The camera of a `--camera`: the name of one of the scene's bookmarks, or text as `camera_text` writes it.

    Raises `InputError`.
    """
    if text in scene.bookmarks:
        return marked(scene, scene.bookmarks[text])
    if ";" not in text:
        known = hint(text, scene.bookmarks) if scene.bookmarks else "the scene has no bookmarks"
        raise _wrong(text, with_hint(f"neither a bookmark of the scene nor {FORM}", known))
    position, target, *rest = (part.strip() for part in text.split(";"))
    fov, parallel = scene.camera.fov, scene.camera.orthographic and not rest
    for part in rest:
        if part == "orthographic":
            parallel = True
        elif part.startswith("fov="):
            fov = _numbers(text, part.removeprefix("fov="), 1)[0]
        else:
            raise _wrong(text, f"{shown(part)} is neither fov=DEGREES nor orthographic")
    checked = _checked(text, position=_numbers(text, position, 3), target=_numbers(text, target, 3), fov=fov)
    return OrbitCamera.from_position(checked.position, checked.target, fov, scene.camera.up, parallel)


def _numbers(text: str, part: str, count: int) -> list[float]:
    try:
        found = [float(number) for number in part.split(",")]
    except ValueError:
        found = []
    if len(found) != count:
        raise _wrong(text, f"expected {count} number{'s' * (count > 1)}, got {shown(part)}")
    return found


def _checked(text: str, **values: Any) -> Bookmark:
    try:
        return Bookmark.parse(values)
    except ParameterError as error:
        raise _wrong(text, str(error)) from None


def _wrong(text: str, problem: str) -> InputError:
    return InputError(f"--camera {shown(text)}: {problem}")
