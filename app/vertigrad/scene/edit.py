"""`edited`: a scene's text with some entries set, taken out or renamed, and every other character as it was.

Nothing is written anew but what changes: `locate` says where a value stands, and only those characters are exchanged.
An entry that is not there yet is put below the last one of its table. The result is read again and compared.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .locate import KeyPath, Places, Statement, dotted, locate

Splice = tuple[int, int, str]  # from, to, what comes in place of it

_WHOLE = re.compile(r"[+-]?[0-9][0-9_]*")
_BLANK_LINES = re.compile(r"(?:\r?\n[ \t]*)+\Z")
_COMMENT_LINES = re.compile(r"(?:\r?\n[ \t]*#[^\r\n]*)*")
_EMPTY_LINE = re.compile(r"\s*\Z|\r?\n[ \t]*\r?\n")
_LARGEST_WHOLE = 1 << 53  # beyond it a float is better not written as an integer


class Uneditable(Exception):
    """The text is laid out so that an entry cannot be changed alone."""


def edited(
    text: str,
    changes: Mapping[KeyPath, Any],
    renames: Mapping[KeyPath, str] | None = None,
    removed: Collection[KeyPath] = (),
) -> str:
    """The TOML `text`, which is sound, with `changes` made: values by their path, None for what is to go.

    A path that is to go may be a table. First `removed` ones go, then `renames` gives tables other names, which may be
    those of removed ones; `changes` uses the new names. A value that is there already is not touched, however it is
    written. Raises `Uneditable`.
    """
    if removed:
        text = edited(text, dict.fromkeys(removed))
    renames = renames or {}
    expected = _expected(tomllib.loads(text), changes, renames)
    text = _spliced(text, _renamed(locate(text), renames))
    for path in [path for path, value in changes.items() if value is None]:
        text = _without(text, path)
    values, places = tomllib.loads(text), locate(text)
    splices: list[Splice] = []
    absent: dict[KeyPath, dict[str, Any]] = {}
    for path, value in changes.items():
        if value is not None and path in places.values:
            splices += _exchanged(places, path, _at(values, path), value)
        elif value is not None:
            absent.setdefault(path[:-1], {})[str(path[-1])] = value
    text = _spliced(text, splices)
    for table, entries in absent.items():
        text = _spliced(text, [_addition(locate(text), table, entries)])
    if _read(text) != expected:
        raise Uneditable
    return text


def literal(value: Any, instead: str = "") -> str:
    """A value as TOML writes it; a float like 3.0 as an integer if it stands `instead` of one."""
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


def _exchanged(places: Places, path: KeyPath, old: Any, new: Any) -> list[Splice]:
    """Of an array of the same length only the elements that differ."""
    if _same(old, new):
        return []
    if isinstance(old, list) and isinstance(new, list | tuple) and len(old) == len(new):
        each = [_exchanged(places, (*path, at), *both) for at, both in enumerate(zip(old, new, strict=True))]
        return [splice for splices in each for splice in splices]
    start, end = places.values[path]
    return [(start, end, literal(new, places.text[start:end]))]


def _same(old: Any, new: Any) -> bool:
    if isinstance(old, list) and isinstance(new, list | tuple):
        return len(old) == len(new) and all(map(_same, old, new))
    return isinstance(old, bool) == isinstance(new, bool) and old == new


def _renamed(places: Places, renames: Mapping[KeyPath, str]) -> list[Splice]:
    return [(start, end, dotted((renames[path],))) for path, start, end in places.parts if path in renames]


def _without(text: str, path: KeyPath) -> str:
    """All that gives the entry or the table at `path` taken out, statement by statement."""
    while True:
        places = locate(text)
        given = [found for found in places.statements if found.path[: len(path)] == path]
        if not given:
            return text
        last = max(given, key=lambda found: found.end)  # the outermost of those that end together
        text = _spliced(text, [_inline_removal(places, last) if last.inline else _removal(places, last)])


def _removal(places: Places, statement: Statement) -> Splice:
    """Its lines; with a header go the empty lines before it, and the comments below it that no next table follows."""
    text, start, end = places.text, _line_start(places.text, statement.start), _line_end(places.text, statement.end)
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


def _inline_removal(places: Places, pair: Statement) -> Splice:
    """With the comma after it, or else the one before it."""
    beside = sorted(
        (found for found in places.statements if found.inline and found.table == pair.table),
        key=lambda found: found.start,
    )
    at = beside.index(pair)
    if at + 1 < len(beside):
        return pair.start, beside[at + 1].start, ""
    return (beside[at - 1].end if at else pair.start), pair.end, ""


# add ----------------------------------------------------------------------------------------------------------------


def _addition(places: Places, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    """Where new entries of a table go, and the text that brings them in."""
    inline = next((table[:n] for n in range(len(table), 0, -1) if table[:n] in places.values), None)
    if inline is not None:
        return _inline_addition(places, inline, table, entries)
    own = [found for found in places.statements if found.table == table and not found.inline]
    if own:
        last = _latest(found for found in own if not found.header) or own[0]
        return _lines_below(places.text, last, table, table, entries)
    within = _latest(
        found
        for found in places.statements
        if not (found.inline or found.header) and found.path[: len(table)] == table and len(found.table) < len(table)
    )
    if within is not None:  # a table made of dotted keys
        return _lines_below(places.text, within, within.table, table, entries)
    if not table:
        return 0, 0, "".join(f"{line}{_eol(places.text, 0)}" for line in _lines((), (), entries))
    return _new_table(places, table, entries)


def _inline_addition(places: Places, inline: KeyPath, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    text, (start, end) = ", ".join(_lines(inline, table, entries)), places.values[inline]
    last = _latest(found for found in places.statements if found.inline and found.table == inline)
    if last is None:
        return start + 1, start + 1, f" {text}" + " " * (end - start == 2)
    return last.end, last.end, f", {text}"


def _lines_below(text: str, last: Statement, header: KeyPath, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    start, at = _line_start(text, last.start), _line_end(text, last.end)
    indent, eol = text[start : last.start], _eol(text, at)
    return at, at, "".join(f"{eol}{indent}{line}" for line in _lines(header, table, entries))


def _new_table(places: Places, table: KeyPath, entries: Mapping[str, Any]) -> Splice:
    """Below the tables that are nearest to it, or at the end."""
    text, written = places.text, [found for found in places.statements if not found.inline]
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
    """Before the newline, which may be of two characters."""
    newline = text.find("\n", at)
    if newline < 0:
        return len(text)
    return newline - 1 if newline > at and text[newline - 1] == "\r" else newline


def _newline_at(text: str, at: int) -> str:
    return next((mark for mark in ("\r\n", "\n") if text.startswith(mark, at)), "")


def _newline_before(text: str, at: int) -> str:
    return next((mark for mark in ("\r\n", "\n") if text.endswith(mark, 0, at)), "")


def _eol(text: str, at: int) -> str:
    """How the line of `at` ends, or the one before if it is the last."""
    return _newline_at(text, _line_end(text, at)) or _newline_before(text, _line_start(text, at)) or "\n"


# what must come out of it -------------------------------------------------------------------------------------------


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
