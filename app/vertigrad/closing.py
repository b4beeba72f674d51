"""`Closing`: a base of what is closed at the end of a `with` block."""

from __future__ import annotations

from typing import Self


class Closing:
    """Has a `close`, which leaving a `with` block calls."""

    __slots__ = ()

    def close(self) -> None:
        """Give up what it holds. Idempotent."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
