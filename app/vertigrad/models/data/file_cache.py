"""`cached`: what was read from a file is cached until the file changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from ...errors import InputError

P = ParamSpec("P")
R = TypeVar("R")
Read = Callable[Concatenate[Path, P], R]


def cached(most: int) -> Callable[[Read[P, R]], Read[P, R]]:
    """Decorate a function of a file, whose path comes first: its last `most` results are cached.

    A result is computed anew if the time, size or inode of the file has changed. Raises `InputError` for a missing
    file, and what the function raises, which is not cached.
    """

    def decorate(read: Read[P, R]) -> Read[P, R]:
        @lru_cache(most)
        def found(path: Path, version: tuple[int, ...], rest: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> R:
            return read(path, *rest, **dict(named))  # type: ignore[arg-type]

        @wraps(read)
        def read_or_found(path: Path, *rest: P.args, **named: P.kwargs) -> R:
            return found(path, _version(path), rest, tuple(named.items()))

        return read_or_found

    return decorate


def _version(path: Path) -> tuple[int, ...]:
    try:
        now = path.stat()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return now.st_mtime_ns, now.st_size, now.st_ino
