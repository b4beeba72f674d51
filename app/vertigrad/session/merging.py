"""Three-way merges: what a file had, what it has now, and the user's edits. No edit is lost."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ..params import shown

K = TypeVar("K", bound=Hashable)
Same = Callable[[Any, Any], bool]


class _Missing:
    """Stands for an entry that one side does not have."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = _Missing()


@dataclass(frozen=True)
class Conflict:
    """One value that both sides changed differently: `ours` is in force, `theirs` is in the file."""

    name: str
    ours: Any
    theirs: Any

    def __str__(self) -> str:
        return f"{self.name}: {text_of(self.ours)} here, {text_of(self.theirs)} in the file"


def merged_value(base: Any, theirs: Any, ours: Any, same: Same = operator.eq) -> tuple[Any, bool]:
    """The value after both edits, and whether they conflict: then it is ours. `MISSING` is a value like any other."""
    if _alike(ours, base, same):
        return theirs, False
    return ours, not (_alike(theirs, base, same) or _alike(theirs, ours, same))


def merged(
    base: Mapping[K, Any], theirs: Mapping[K, Any], ours: Mapping[K, Any], same: Same = operator.eq
) -> tuple[dict[K, Any], list[K]]:
    """The entries after both edits, ours in our order before what only they have; and the keys in conflict."""
    found: dict[K, Any] = {}
    conflicts: list[K] = []
    for key in {**ours, **theirs}:
        sides = (side.get(key, MISSING) for side in (base, theirs, ours))
        value, conflict = merged_value(*sides, same=same)
        if conflict:
            conflicts.append(key)
        if value is not MISSING:
            found[key] = value
    return found, conflicts


def text_of(value: Any) -> str:
    """A value as a message shows it."""
    if value is MISSING:
        return "nothing"
    return shown(value) if isinstance(value, bool | int | float | str | tuple | list) else str(value)


def _alike(one: Any, other: Any, same: Same) -> bool:
    if one is MISSING or other is MISSING:
        return one is other
    return same(one, other)
