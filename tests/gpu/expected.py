"""What random histories of tensors expect: values, and who uses the blocks that they lie in."""

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
    """Host memory that is lent, and what is in it."""

    memory: bytearray
    values: np.ndarray

    def check(self, lent: bool) -> None:
        """It is as it was, and can be resized unless it is lent."""
        assert np.array_equal(np.array(memoryview(self.memory).cast("f")), self.values), "what is lent was written"
        if lent:
            with pytest.raises(BufferError):
                self.memory.append(0)
        else:
            self.memory.append(0)
            del self.memory[-1]


@dataclass(eq=False)
class Owned:
    """What a tensor has together with its views: the values they must have, and those at the last submission.

    They were in `block` then. A recording may move them: if it is dropped, nothing was copied to where they moved.
    """

    values: np.ndarray
    submitted: np.ndarray
    source: Source | None = None
    block: Block | None = None

    def is_submitted(self, block: Block) -> bool:
        """Whether `block` has the values whatever becomes of the recording."""
        return self.values is self.submitted and self.block is block

    def write(self, part: slice, values: Any) -> None:
        self.values = self.values.copy()
        self.values[part] = values


@dataclass(eq=False)
class Held:
    """An open tensor, and which part of its block it is."""

    tensor: Tensor
    owned: Owned
    part: slice

    @property
    def values(self) -> np.ndarray:
        return self.owned.values[self.part]


@dataclass(eq=False)
class Reading:
    """Values on their way, and what they must be; `submitted` as soon as nothing can drop them."""

    result: Callable[[], np.ndarray]
    values: np.ndarray
    state: str = "recorded"


@dataclass(eq=False)
class Drawn:
    """A published block and the values that it must have until it is withdrawn.

    Those that were not submitted when it was published may be dropped: then nothing is known of them.
    """

    block: Block
    values: np.ndarray | None
    submitted: bool


@dataclass(eq=False)
class Shown:
    """A set of outputs that are drawn, and the tensors they were, if these are still open."""

    publication: Publication
    tensors: list[weakref.ref[Held]]
    drawn: list[Drawn]


@dataclass(eq=False)
class Lent:
    """An open `resource()`: where other code was told that the tensor lies."""

    context: Any
    owned: Owned
    block: Block
    generation: int
    buffer: Any
    writable: bool
