"""`edited`: a scene's text with some entries set, removed or renamed, and every other character unchanged.

`locate` finds the position of a value, and only those characters are replaced. A new entry is added below the last one
of its table. The result is parsed and compared with the expected values.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .locate import KeyPath, SourceMap, Statement, dotted, locate

Splice = tuple[int, int, str]  # start, end, replacement

_WHOLE = re.compile(r"[+-]?[0-9][0-9_]*")
_BLANK_LINES = re.compile(r"(?:\r?\n[ \t]*)+\Z")
_COMMENT_LINES = re.compile(r"(?:\r?\n[ \t]*#[^\r\n]*)*")
_EMPTY_LINE = re.compile(r"\s*\Z|\r?\n[ \t]*\r?\n")
_LARGEST_WHOLE = 1 << 53  # larger floats are not written as integers


class Uneditable(Exception):
    """An entry cannot be changed without changing other parts of the text."""


def edited(
    text: str,
    changes: Mapping[KeyPath, Any],
    renames: Mapping[KeyPath, str] | None = None,
    removed: Collection[KeyPath] = (),
) -> str:
    """The valid TOML `text` with `changes`: values by their path, None for paths to remove.

    A removed path may be a table. First `removed` paths are removed, then `renames` renames tables, also to names of
    removed ones; `changes` uses the new names. A value that is equal already is not changed, however it is written.
    Raises `Uneditable`.
    """
    if removed:
        text = edited(text, dict.fromkeys(removed))
    renames = renames or {}
    expected = _expected(tomllib.loads(text), changes, renames)
    text = _spliced(text, _renamed(locate(text), renames))
    for path in [path for path, value in changes.items() if value is None]:
        text = _without(text, path)
    values, source_map = tomllib.loads(text), locate(text)
    splices: list[Splice] = []
    absent: dict[KeyPath, dict[str, Any]] = {}
    for path, value in changes.items():
        if value is not None and path in source_map.values:
            splices += _exchanged(source_map, path, _at(values, path), value)
        elif value is not None:
            absent.setdefault(path[:-1], {})[str(path[-1])] = value
    text = _spliced(text, splices)
    for table, entries in absent.items():
        text = _spliced(text, [_addition(locate(text), table, entries)])
    if _read(text) != expected:
        raise Uneditable
    return text


def literal(value: Any, instead: str = "") -> str:
    """A value in TOML; a float like 3.0 as an integer if it replaces one, `instead`."""
    match value:
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer() and abs(value) < _LARGEST_WHOLE and _WHOLE.fullmatch(instead):
            return str(int(value))
        case int() | float():
            return repr(value)
        case str():
            import tomlkit  # here: the viewer's first frame does not wait for it

            return tomlkit.item(value).as_string()
    return f"[{', '.join(literal(element) for element in value)}]"


# exchange, remove, rename -------------------------------------------------------------------------------------------


def _exchanged(source_map: SourceMap, path: KeyPath, old: Any, new: Any) -> list[Splice]:
    """The splices that set a value; in an array of the same length, only of the elements that differ."""
    if _same(old, new):
        return []
    if isinstance(old, list) and isinstance(new, list | tuple) and len(old) == len(new):
        each = [_exchanged(source_map, (*path, at), *both) for at, both in enumerate(zip(old, new, strict=True))]
        return [splice for splices in each for splice in splices]
    start, end = source_map.values[path]
    return [(start, end, literal(new, source_map.text[start:end]))]


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, list) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    return isinstance(old, bool) == isinstance(new, bool) and old == new


def _renamed(source_map: SourceMap, renames: Mapping[KeyPath, str]) -> list[Splice]:
    return [(start, end, dotted((renames[path],))) for path, start, end in source_map.parts if path in renames]


def _without(text: str, path: KeyPath) -> str:
    """Remove every statement that defines a part of the entry or table at `path`."""
    while True:
        source_map = locate(text)
        statements = [found for found in source_map.statements if found.path[: len(path)] == path]
        if not statements:
            return text
        last = max(statements, key=lambda found: found.end)  # the outermost of those that end together
        text = _spliced(text, [_inline_removal(source_map, last) if last.inline else _removal(source_map, last)])


def _removal(source_map: SourceMap, statement: Statement) -> Splice:
    """Remove its lines; for a header, also empty lines before it, and comments below it unless a table follows them."""
    text, start, end = (
        source_map.text,
        _line_start(source_map.text, statement.start),
        _line_end(source_map.text, statement.end),
    )
    if statement.header:
        comments = _COMMENT_LINES.match(text, end)
        end = comments.end() if comments and _EMPTY_LINE.match(text, comments.end()) else end
        blank = _BLANK_LINES.search(text, 0, start)
        start = blank.start() if blank else start
        return start, end if start else end + len(_newline_at(text, end)), ""
    newline = _newline_at(text, end)
    if not newline and start:  # the last line of a file that does not end with a newline
        return start - len(_newline_before(text, start)), end, ""
    return start, end + len(newline), ""


def _inline_removal(source_map: SourceMap, pair: Statement) -> Splice:
    """Remove it with the comma after it, or else the one before it."""
    pairs = sorted(
        (found for found in source_map.statements if found.inline and found.table == pair.table),
        key=lambda found: found.start,
    )
    at = pairs.index(pair)
    if at + 1 < len(pairs):
        return pair.start, pairs[at + 1].start, ""
    return (pairs[at - 1].end if at else pair.start), pair.end, ""


# add ----------------------------------------------------------------------------------------------------------------


def _addition(source_map: SourceMap, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    """The splice that adds new entries to a table."""
    inline = next((table[:n] for n in range(len(table), 0, -1) if table[:n] in source_map.values), None)
    if inline is not None:
        return _inline_addition(source_map, inline, table, entries)
    own = [found for found in source_map.statements if found.table == table and not found.inline]
    if own:
        last = _latest(found for found in own if not found.header) or own[0]
        return _lines_below(source_map.text, last, table, table, entries)
    within = _latest(
        found
        for found in source_map.statements
        if not (found.inline or found.header) and found.path[: len(table)] == table and len(found.table) < len(table)
    )
    if within is not None:  # a table made of dotted keys
        return _lines_below(source_map.text, within, within.table, table, entries)
    if not table:
        return 0, 0, "".join(f"{line}{_eol(source_map.text, 0)}" for line in _lines((), (), entries))
    return _new_table(source_map, table, entries)


def _inline_addition(source_map: SourceMap, inline: KeyPath, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    text, (start, end) = ", ".join(_lines(inline, table, entries)), source_map.values[inline]
    last = _latest(found for found in source_map.statements if found.inline and found.table == inline)
    if last is None:
        return start + 1, start + 1, f" {text}" + " " * (end - start == 2)
    return last.end, last.end, f", {text}"


def _lines_below(text: str, last: Statement, header: KeyPath, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    start, at = _line_start(text, last.start), _line_end(text, last.end)
    indent, eol = text[start : last.start], _eol(text, at)
    return at, at, "".join(f"{eol}{indent}{line}" for line in _lines(header, table, entries))


def _new_table(source_map: SourceMap, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    """Add a table below the most closely related ones, or at the end."""
    text, written = source_map.text, [found for found in source_map.statements if not found.inline]
    headers = [found for found in written if found.header and found.path[:1] == table[:1]]
    kin = max(headers, key=lambda found: (_shared(found.path, table), found.end), default=None)
    last = _latest(found for found in written if kin is None or found.table == kin.table)
    at = len(text.rstrip())
    if last and any(found.start > last.end for found in written):  # another table follows
        comments = _COMMENT_LINES.match(text, _line_end(text, last.end))
        at = comments.end() if comments else at
    eol = _eol(text, at)
    return at, at, (2 * eol if at else "") + eol.join([f"[{dotted(table)}]", *_lines(table, table, entries)])


def _shared(path: KeyPath, other: KeyPath) -> int:
    return next((at for at, (a, b) in enumerate(zip(path, other, strict=False)) if a != b), min(len(path), len(other)))


def _lines(header: KeyPath, table: KeyPath, entries: Mapping[str, Any]) -> list[str]:
    above = table[len(header) :]
    return [f"{dotted((*above, name))} = {literal(value)}" for name, value in entries.items()]


# text ---------------------------------------------------------------------------------------------------------------


def _spliced(text: str, splices: Iterable[Splice]) -> str:
    for start, end, new in sorted(splices, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _latest(statements: Iterable[Statement]) -> Statement | None:
    return max(statements, key=lambda found: found.end, default=None)


def _line_start(text: str, at: int) -> int:
    return text.rfind("\n", 0, at) + 1


def _line_end(text: str, at: int) -> int:
    """The offset of the newline, which may have two characters."""
    newline = text.find("\n", at)
    if newline < 0:
        return len(text)
    return newline - 1 if newline > at and text[newline - 1] == "\r" else newline


def _newline_at(text: str, at: int) -> str:
    return next((mark for mark in ("\r\n", "\n") if text.startswith(mark, at)), "")


def _newline_before(text: str, at: int) -> str:
    return next((mark for mark in ("\r\n", "\n") if text.endswith(mark, 0, at)), "")


def _eol(text: str, at: int) -> str:
    """The newline of the line at `at`, or of the line before if it is the last."""
    return _newline_at(text, _line_end(text, at)) or _newline_before(text, _line_start(text, at)) or "\n"


# expected result ----------------------------------------------------------------------------------------------------


def _at(values: Any, path: KeyPath) -> Any:
    for part in path:
        values = values[part]
    return values


def _expected(values: dict[str, Any], changes: Mapping[KeyPath, Any], renames: Mapping[KeyPath, str]) -> Any:
    moved = [(path, name, _at(values, path)) for path, name in renames.items()]
    for path, _, _ in moved:
        del _at(values, path[:-1])[path[-1]]
    for path, name, table in moved:
        _at(values, path[:-1])[name] = table
    for path, value in changes.items():
        table: Any = values
        for part in path[:-1]:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise Uneditable
        if value is None:
            table.pop(path[-1], None)
        else:
            table[path[-1]] = value
    return _comparable(values)


def _read(text: str) -> Any:
    try:
        return _comparable(tomllib.loads(text))
    except ValueError:
        return None


def _comparable(value: Any) -> Any:
    """Without empty tables, and with the kinds of values distinguished."""
    if isinstance(value, dict):
        inner = {key: _comparable(entry) for key, entry in value.items()}
        return {key: entry for key, entry in inner.items() if entry != {}}
    if isinstance(value, list | tuple):
        return [_comparable(entry) for entry in value]
    return (isinstance(value, bool), value)
