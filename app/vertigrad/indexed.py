"""Sequences of tensors: their type, and the names of their elements, such as "/split[2]"."""

from __future__ import annotations

import re

SEQUENCE = "sequence"  # the type of a sequence of tensors
_INDEXED = re.compile(r"(.+)\[(\d{1,9})\]", re.DOTALL)


def indexed(sequence: str, index: int) -> str:
    """The name of an element of a sequence."""
    return f"{sequence}[{index}]"


def parsed(name: str) -> tuple[str, int] | None:
    """The sequence and the index in such a name; None for another one."""
    found = _INDEXED.fullmatch(name)
    return None if found is None else (found[1], int(found[2]))
