"""Suggestions for unknown names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from .shown import shown

_LISTED = 24  # more names than this are no help in a message


def hint(word: str, known: Iterable[str]) -> str:
    """`did you mean "softening"?`, or the known names if none is close, or nothing if there are too many."""
    names = sorted(known)
    close = closest(word, names)
    if close:
        return f'did you mean "{close}"?'
    return f"known: {', '.join(names)}" if 0 < len(names) <= _LISTED else ""


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known name closest to `word`, if any is close enough; case is ignored."""
    by_folded = {name.casefold(): name for name in known}
    found = get_close_matches(word[:80].casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[found[0]] if found else None


def unknown(kind: str, word: str, known: Iterable[str]) -> str:
    """`unknown model "galxy"; did you mean "galaxy"?`."""
    return with_hint(f"unknown {kind} {shown(word)}", hint(word, known))


def with_hint(message: str, more: str) -> str:
    """`message; more`, or the message alone if `more` is empty."""
    return f"{message}; {more}" if more else message
