"""`Frames`: the steps of a script's loop, for `for` and for `async for`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Generic, Self, TypeVar

T = TypeVar("T")
LET = 0.001  # seconds in which other tasks run between two frames


class Frames(Iterator[T], AsyncIterator[T], Generic[T]):
    """One step for each frame. With `async for` other tasks, and in notebooks events, get their turn between two."""

    def __init__(self, steps: Iterator[T]):
        self._steps = steps
        self._task: asyncio.Task[object] | None = None
        self._ended = False

    @property
    def awaited(self) -> bool:
        """Whether an `async for` goes through it now."""
        return self._task is not None and not self._ended and not self._task.done()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        return next(self._steps)

    def __aiter__(self) -> Self:
        self._task = asyncio.current_task()
        return self

    async def __anext__(self) -> T:
        await asyncio.sleep(LET)
        try:
            return next(self._steps)
        except StopIteration:
            self._ended = True
            raise StopAsyncIteration from None
