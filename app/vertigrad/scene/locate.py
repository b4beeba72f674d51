"""The position of each key and value of a TOML document: `("models", "galaxy", "seed")` is on line 12.

The parser of the standard library does not report positions. This one requires text that the other has accepted: it
finds the bounds of keys and values only, and does not validate them.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field

KeyPath = tuple[str | int, ...]

MAX_DEPTH = 32  # far more than a scene needs; limits the time for malicious files

_BLANK = re.compile(r"[ \t]*")
_FILL = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")  # between statements, and between the elements of an array
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^"\\]+|\\.|"(?!""))*"{3,5}' r"|'''.*?'{3,5}" r'|"(?:[^"\\]+|\\.)*"' r"|'[^']*'",
    re.DOTALL,
)
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^\s,\]}#]*|[^\s,\]}#]+")  # numbers, booleans, dates
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class TooDeep(Exception):
    """A key or value is nested deeper than `MAX_DEPTH`; `offset` is where."""

    def __init__(self, offset: int):
        super().__init__(offset)
        self.offset = offset


@dataclass(frozen=True)
class Statement:
    """`key = value`, or a header such as `[models.galaxy]`, from `start` to `end`, exclusive.

    `path` is the path that it defines; `table` is the table in which it is written, or the path itself for a header.
    `inline`: that table is written as `{ }`.
    """

    path: KeyPath
    table: KeyPath
    start: int
    end: int
    inline: bool = False
    header: bool = False


@dataclass
class SourceMap:
    """Offsets into the text of every key, and of every value as (start, end).

    `parts` are the parts of all keys, each with the path up to it, its start and its end; `statements` are in the order
    of their ends.
    """

    text: str
    keys: dict[KeyPath, int] = field(default_factory=dict)
    values: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    parts: list[tuple[KeyPath, int, int]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lines = [0, *(found.end() for found in re.finditer("\n", self.text))]

    def of_key(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of the key, or of the nearest enclosing table that is in the text."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.keys:
                return self.line_column(self.keys[path[:length]])
        return 1, 1

    def of_value(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of the value; of the key if the value is a table with a header."""
        return self.line_column(self.values[path][0]) if path in self.values else self.of_key(path)

    def line_column(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1, of an offset into the text."""
        line = bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1


def locate(text: str) -> SourceMap:
    """The positions of every key and value of `text`, which must be valid TOML. Raises `TooDeep`."""
    walk = _Walk(text)
    walk.document()
    return walk.source_map


def dotted(path: KeyPath) -> str:
    """The path as the scene file would write it: `models.galaxy.ui."a b".min`."""
    parts = [str(part) for part in path]
    return ".".join(part if _BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in parts)


class _Walk:
    def __init__(self, text: str):
        self.text = text
        self.at = 0
        self.source_map = SourceMap(text)
        self.lengths: dict[KeyPath, int] = {}  # of arrays of tables: `[[name]]`

    def document(self) -> None:
        table: KeyPath = ()
        self._skip(_FILL)
        while self.at < len(self.text):
            if self.text[self.at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_FILL)

    def _header(self) -> KeyPath:
        start, is_array = self.at, self.text.startswith("[[", self.at)
        self.at += 2 if is_array else 1
        path = self._path((), is_array)
        self.at += 2 if is_array else 1
        self.source_map.statements.append(Statement(path, path, start, self.at, header=True))
        return path

    def _pair(self, table: KeyPath, *, inline: bool = False) -> None:
        start, path = self.at, self._path(table)
        self.at += 1  # the equals sign
        self._skip(_BLANK)
        self._value(path)
        self.source_map.statements.append(Statement(path, table, start, self.at, inline))

    def _path(self, above: KeyPath, is_array: bool = False) -> KeyPath:
        path, parts = above, self._dotted_key(above)
        for number, (part, offset) in enumerate(parts, start=1):
            path = (*path, part)
            self._key(path, offset, written_out=number == len(parts))
            if is_array and number == len(parts):
                self.lengths[path] = self.lengths.get(path, 0) + 1
            if path in self.lengths:
                path = (*path, self.lengths[path] - 1)
                self._key(path, offset, written_out=False)
        return path

    def _key(self, path: KeyPath, offset: int, *, written_out: bool) -> None:
        if written_out:
            self.source_map.keys[path] = offset
        else:
            self.source_map.keys.setdefault(path, offset)

    def _dotted_key(self, above: KeyPath) -> list[tuple[str, int]]:
        parts = []
        while True:
            self._skip(_BLANK)
            if len(above) + len(parts) >= MAX_DEPTH:
                raise TooDeep(self.at)
            parts.append((self._key_part(), self._part_start))
            above_it = tuple(part for part, _ in parts)
            self.source_map.parts.append(((*above, *above_it), self._part_start, self.at))
            self._skip(_BLANK)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _key_part(self) -> str:
        self._part_start = self.at
        if self.text[self.at] not in "\"'":
            return self._skip(_BARE)
        quoted = self._skip(_STRING)
        return _unescaped(quoted[1:-1]) if quoted[0] == '"' else quoted[1:-1]

    def _value(self, path: KeyPath) -> None:
        if len(path) > MAX_DEPTH:
            raise TooDeep(self.at)
        start = self.at
        match self.text[start]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'":
                self._skip(_STRING)
            case _:
                self._skip(_PLAIN)
        self.source_map.values[path] = (start, self.at)

    def _array(self, path: KeyPath) -> None:
        index = 0
        while self._element_follows("]"):
            self.source_map.keys[(*path, index)] = self.at
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: KeyPath) -> None:
        while self._element_follows("}"):
            self._pair(path, inline=True)

    def _element_follows(self, end: str) -> bool:
        """Steps over the opening bracket or a comma; false, and past `end`, if nothing more is inside."""
        self._skip(_FILL)
        if self.text[self.at] != end:
            self.at += 1
            self._skip(_FILL)
        if self.text[self.at] != end:
            return True
        self.at += 1
        return False

    def _skip(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        assert found, f"not sound TOML at offset {self.at}"
        self.at = found.end()
        return found.group()


def _unescaped(text: str) -> str:
    def character(found: re.Match[str]) -> str:
        code = found[1] or found[2] or found[3]
        return chr(int(code, 16)) if code else _ESCAPED.get(found[4], found[4])

    return _ESCAPE.sub(character, text)
