"""The expected state of random tensor programs: values, and the users of their blocks."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from vertigrad.memory import Block
from vertigrad.tensor import Publication, Tensor


@dataclass(eq=False)
class Source:
    """Borrowed host memory, and its contents."""

    memory: bytearray
    values: np.ndarray

    def check(self, lent: bool) -> None:
        """It is unchanged, and can be resized unless it is borrowed."""
        assert np.array_equal(np.array(memoryview(self.memory).cast("f")), self.values), "what is lent was written"
        if lent:
            with pytest.raises(BufferError):
                self.memory.append(0)
        else:
            self.memory.append(0)
            del self.memory[-1]


@dataclass(eq=False)
class Owned:
    """The data shared by a tensor and its views: the expected values, and those at the last submission.

    These were in `block`. A recording may move them: if it is dropped, nothing was copied to the new block.
    """

    values: np.ndarray
    submitted: np.ndarray
    source: Source | None = None
    block: Block | None = None

    def is_submitted(self, block: Block) -> bool:
        """Whether `block` has the values even if the recording is dropped."""
        return self.values is self.submitted and self.block is block

    def write(self, part: slice, values: Any) -> None:
        self.values = self.values.copy()
        self.values[part] = values


@dataclass(eq=False)
class Held:
    """An open tensor, and its part of the block."""

    tensor: Tensor
    owned: Owned
    part: slice

    @property
    def values(self) -> np.ndarray:
        return self.owned.values[self.part]


@dataclass(eq=False)
class Reading:
    """A pending readback and its expected values; `submitted` once it can no longer be dropped."""

    result: Callable[[], np.ndarray]
    values: np.ndarray
    state: str = "recorded"


@dataclass(eq=False)
class Drawn:
    """A published block and the values that it must have until it is withdrawn.

    Values that were not submitted when it was published may be dropped: then they are unknown.
    """

    block: Block
    values: np.ndarray | None
    submitted: bool


@dataclass(eq=False)
class Shown:
    """A set of published outputs, and their tensors, if these are still open."""

    publication: Publication
    tensors: list[weakref.ref[Held]]
    drawn: list[Drawn]


@dataclass(eq=False)
class Lent:
    """An open `resource()`: the buffer and offset that other code received."""

    context: Any
    owned: Owned
    block: Block
    generation: int
    buffer: Any
    writable: bool
