"""Reads a scene file: from its bytes to plain values and their positions."""

from __future__ import annotations

import logging
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import SceneError, SceneProblem
from ..params import closest, with_hint
from . import data_scene
from .kinds import DATA, UNREAD, is_photos, require_scene
from .locate import MAX_DEPTH, SourceMap, TooDeep, locate
from .renamed import renewed, renewed_with_notice

_log = logging.getLogger("vertigrad")
_noticed: dict[Path, str] = {}  # by file

MAX_BYTES = 4 << 20  # a scene names its data files and does not contain data

_BYTE_ORDER_MARK = "\ufeff"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 files begin
_PARSER_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_UNCLOSED = re.compile(r"(?:[\[{][^\[\]{}]*){" f"{MAX_DEPTH}" "}")
_LONG_NUMBER = re.compile(r"[0-9_]{1000,}")
_PLAINER = {
    "Invalid value": "this is not a value of TOML; text needs quotes",
    "Invalid statement": "expected key = value or [table]",
    "Illegal character '\\n'": "the text has no closing quote on its line",
    "Expected newline or end of document after a statement": "expected the line to end here",
}
_TWICE = re.compile("Cannot (?:overwrite|declare|redefine|mutate)")


@dataclass(frozen=True)
class Source:
    """A scene file as read: `values` by table and key, not checked yet."""

    path: str
    values: dict[str, Any]
    source_map: SourceMap


def read(path: Path, text: str | None = None) -> Source:
    """Parse the file, or `text` instead; for a data file, a scene is generated.

    Raises `SceneError` if there is no such file or it is not TOML, and `InputError` for a network that cannot be read
    or drawn.
    """
    content = text_of(path) if text is None else renewed(text)
    try:
        return Source(str(path), tomllib.loads(content), locate(content))
    except TooDeep as error:
        line, column = SourceMap(content).line_column(error.offset)
    except RecursionError:
        found = _UNCLOSED.search(content)
        line, column = SourceMap(content).line_column(found.start() if found else 0)
    except ValueError as error:
        raise _syntax_error(path, content, error) from None
    raise _error(path, line, column, f"nested more than {MAX_DEPTH} levels deep") from None


def text_of(path: Path) -> str:
    """The text of the file, with new names; for a data file, the generated scene. Raises as `read`."""
    return _generated(path) or _with_new_names(path, _decoded(path, _bytes(path)))


def _with_new_names(path: Path, text: str) -> str:
    """The text with new names; a notice is logged once for each list of old ones."""
    text, notice = renewed_with_notice(text)
    if notice and _noticed.get(path) != notice:
        _noticed[path] = notice
        _log.warning("%s: %s", path.name, notice)
    return text


def _generated(path: Path) -> str:
    """The generated scene of a data file; empty for all others."""
    kind = path.suffix.lower()
    if is_photos(path):
        return data_scene.photos_text(path)
    if kind not in DATA | UNREAD.keys() or not os.path.isfile(path):  # `Path.is_file` raises for a name too long
        return ""
    if kind in UNREAD:
        require_scene(path)
    return data_scene.scene_text(path)


def _bytes(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise _error(path, 1, 1, "is a folder, not a scene file")
        if not path.exists():
            raise _error(path, 1, 1, with_hint("there is no such file", _near(path)))
        if not path.is_file():
            raise _error(path, 1, 1, "is not a regular file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise _error(path, 1, 1, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(content) > MAX_BYTES:
        raise _error(path, 1, 1, f"is larger than {MAX_BYTES >> 20} MiB; a scene file refers to data by file name")
    return content


def _near(path: Path) -> str:
    if not path.parent.is_dir():
        return f"nor a folder {path.parent}"
    close = closest(path.name, (other.name for other in path.parent.glob("*.toml") if other.is_file()))
    return f'did you mean "{path.with_name(close)}"?' if close else ""


def _decoded(path: Path, content: bytes) -> str:
    if content.startswith(_WIDE_MARKS):
        raise _error(path, 1, 1, "is UTF-16; save it as UTF-8")
    try:
        return content.decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        line, column = SourceMap(before).line_column(len(before))
        byte = content[error.start]
        raise _error(path, line, column, f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8") from None


def _syntax_error(path: Path, text: str, error: ValueError) -> SceneError:
    reason = str(error)
    position = _PARSER_POSITION.search(reason)
    if not position:  # the only other error of the parser: a number too long to convert
        long_number = _LONG_NUMBER.search(text)
        line, column = SourceMap(text).line_column(long_number.start() if long_number else 0)
        return _error(path, line, column, "a number with too many digits")
    if position[1]:
        line, column = int(position[1]), int(position[2])
    else:
        line, column = SourceMap(text).line_column(len(text.rstrip()))
    message = _PLAINER.get(reason[: position.start()], reason[: position.start()])
    if _TWICE.match(reason):  # detected at the end of the line
        written = text.split("\n")[line - 1]
        column, message = len(written) - len(written.lstrip()) + 1, "this is set twice"
    return _error(path, line, column, f"not TOML: {message}")


def _error(path: Path, line: int, column: int, message: str) -> SceneError:
    return SceneError(str(path), [SceneProblem(line, column, "", message)])
