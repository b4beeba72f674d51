"""`Closing`: a base class for objects that a `with` block closes."""

from __future__ import annotations

from typing import Self


class Closing:
    """Has a `close`, which leaving a `with` block calls."""

    __slots__ = ()

    def close(self) -> None:
        """Release its resources. Idempotent."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
