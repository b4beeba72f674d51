"""The current view as a command line that renders the same image without a window."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from .. import resources
from ..params import Auto
from ..scene.edit import literal
from ..scene.locate import KeyPath
from ..scene.settings import parse, shortest
from ..scene.viewpoints import camera_text, home
from .clock import STEP
from .naming import plain
from .parameters import Key, as_read, spec_of
from .saving import entries, parameter_of

if TYPE_CHECKING:
    from .session import Session

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VALUES = ("true", "false", "inf", "nan")  # words that TOML takes for something else than text


def command_line(session: Session, size: tuple[int, int] = (1280, 720), output: str = "out.png") -> str:
    """`vertigrad render SCENE ...` with every value that its file has otherwise, the seed, the camera and the time.

    The image is the same if the values were not changed since the models' start. What no option can express follows in
    a comment after a #.
    """
    changes = {path: value for path, value in entries(session).values.items() if path[0] not in ("presets", "camera")}
    chosen = {key.path: int(value) for key, value in session.scene_edits.values().items() if isinstance(value, Auto)}
    changes |= chosen  # another adapter would choose another number
    words = ["vertigrad", "render", scene_name(session)]
    for text in session.source.sets:
        if parameter_of(session.scene, text) is None:
            words += ["--set", text]
    for path, value in changes.items():
        if value is not None:
            words += ["--set", setting(path, value)]
    if session.source.seed is not None:
        words += ["--seed", str(session.source.seed)]
    if session.camera != home(session.scene):
        words += ["--camera", camera_text(session.camera)]
    words += ["--frames", str(max(1, round(session.time / STEP))), "--size", f"{size[0]}x{size[1]}", "-o", output]
    interactions = ["without interactions"] if session.clock.interactions.gestures else []
    missing = interactions + [f"without {shortest(path)}" for path, value in changes.items() if value is None]
    return "  # ".join([quoted(words), *([", ".join(missing)] if missing else [])])


def scene_name(session: Session) -> str:
    """The name of the session's scene on the command line."""
    path = session.scene.path
    return path.stem if path in [found.resolve() for found in resources.scenes()] else str(path)


def setting_of(session: Session, key: Key) -> str:
    """A parameter as it is now, as `--set` takes it. Raises `ParameterError` if there is none of that name."""
    owners = as_read(session.scene)
    value = plain(spec_of(owners, key), session.scene_edits.value(key), session.scene.path.parent)
    return quoted(["--set", setting(key.path, value)])


def setting(path: KeyPath, value: Any) -> str:
    """`galaxy.softening=0.1`, from which `--set` reads exactly this value."""
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value not in _VALUES
    text = f"{shortest(path)}={value if is_word else literal(value)}"
    assert parse(text).path == path, text
    return text


def quoted(words: list[str]) -> str:
    """Quoted for the shell of the system."""
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)
