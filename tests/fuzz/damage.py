"""Damaged files, generated from valid files; and which files were opened to read them."""

from __future__ import annotations

import random
import re
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NUMBER = re.compile(rb"-?\d+\.?\d*(?:[eE][+-]?\d+)?")
EXTREMES = [
    b"0",
    b"-1",
    b"1e38",
    b"1e39",
    b"-1e-45",
    b"nan",
    b"inf",
    b"99999999999999999999",
    b"2147483648",
    b'""',
    b"[]",
]
BYTES = [b"\0", b"\xff", b"\r", b'"', b"[", b"]", b"=", b"{", b"\xc3\x28", b"\xf0\x9f\x8c\x8a"]


def damaged(data: bytes, chance: random.Random, text: bool) -> bytes:
    """One to three changes: bytes flipped, spans cut or doubled; of text also numbers, lines and words changed."""
    for _ in range(chance.randint(1, 3)):
        changes = [_flipped, _cut, _doubled, _inserted, _ended] + ([_number, _number, _line, _word] if text else [])
        data = chance.choice(changes)(data, chance)
    return data


def _span(data: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(data) + 1)
    return start, min(len(data), start + chance.choice([1, 4, 16, 200]))


def _flipped(data: bytes, chance: random.Random) -> bytes:
    at, _ = _span(data, chance)
    return data[:at] + bytes(byte ^ (1 << chance.randrange(8)) for byte in data[at : at + 1]) + data[at + 1 :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:start] + data[end:]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    start, end = _span(data, chance)
    return data[:end] + data[start:]


def _inserted(data: bytes, chance: random.Random) -> bytes:
    at, _ = _span(data, chance)
    return data[:at] + chance.choice(BYTES) + data[at:]


def _ended(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _number(data: bytes, chance: random.Random) -> bytes:
    found = list(NUMBER.finditer(data))
    if not found:
        return data
    match = chance.choice(found)
    return data[: match.start()] + chance.choice(EXTREMES) + data[match.end() :]


def _line(data: bytes, chance: random.Random) -> bytes:
    """A line removed, doubled, or moved."""
    lines = data.split(b"\n")
    line = lines.pop(chance.randrange(len(lines)))
    for _ in range(chance.randrange(3)):
        lines.insert(chance.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _word(data: bytes, chance: random.Random) -> bytes:
    """A word replaced by another of the file."""
    words = list(re.finditer(rb"[A-Za-z_]+", data))
    if len(words) < 2:
        return data
    old, new = chance.choice(words), chance.choice(words)
    return data[: old.start()] + new.group() + data[old.end() :]


# what reading did ---------------------------------------------------------------------------------------------------

_opened: list[str] | None = None


@sys.addaudithook
def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str):
        _opened.append(arguments[0])


@contextmanager
def bounded(folder: Path, most_bytes: int) -> Iterator[None]:
    """Context in which no more memory may be allocated, and no file be opened outside of the folder.

    Python's own modules are opened as they are imported.
    """
    global _opened
    tracemalloc.start()
    _opened = []
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most_bytes
        real = [Path(name).resolve() for name in _opened if not name.endswith((".py", ".pyc", ".so"))]
        assert not [path for path in real if not path.is_relative_to(folder.resolve())]
    finally:
        _opened = None
        tracemalloc.stop()
