"""`DeclaredOutputs`: the outputs of a network in a scene, which stay the same tensors while it is recorded again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ... import ops
from ...closing import Closing
from ...errors import InputError
from ...gpu import Plan
from ...tensor import Tensor

if TYPE_CHECKING:
    from ...onnx_import import Network, Program

S = TypeVar("S", int, int | None)


class DeclaredOutputs(Closing):
    """`tensors`, by the names that a scene gives to outputs of a network; `declared` has them by these names.

    A dimension that no input has, such as the number of boxes found, has the size that the scene's `dims` gives it;
    what is beyond the elements found is NaN, in tensors of integers 0. Without a size the shape is that of the first
    program. Close it.
    """

    def __init__(self, network: Network, declared: Mapping[str, str]):
        self._network, self._declared = network, dict(declared)
        self._held = ExitStack()
        self.tensors: dict[str, Tensor] = {}

    def record(self, plan: Plan, program: Program) -> None:
        """Record into `plan` that the outputs of `program` are copied; those of the first program may be the tensors.

        Raises `InputError` if one of them has more elements along an axis than its tensor has, or another shape.
        """
        for ours, theirs in self._declared.items():
            found = program.tensor(theirs)
            if ours not in self.tensors:
                self._create(ours, theirs, found)
            tensor = self.tensors[ours]
            if tensor.owner is not found.owner:
                with plan.recording():
                    self._copy(theirs, found, tensor)

    def close(self) -> None:
        """Give the tensors back. Idempotent."""
        self._held.close()

    def _create(self, ours: str, theirs: str, found: Tensor) -> None:
        room = self._room(theirs, found)
        is_whole = room == found.shape
        tensor = (
            found.reshape(*without_batch(found.shape))
            if is_whole
            else Tensor.empty(without_batch(room), found.dtype, ours)
        )
        self.tensors[ours] = self._held.enter_context(tensor)

    def _room(self, name: str, found: Tensor) -> tuple[int, ...]:
        """The shape of a tensor that has room for all that the scene expects."""
        names = self._network.own_dimensions(name)
        sizes_in_dims = [self._network.dims.get(axis) if axis else None for axis in names]
        return tuple(size or actual for size, actual in zip(sizes_in_dims, found.shape, strict=True))

    def _copy(self, name: str, found: Tensor, tensor: Tensor) -> None:
        room = self._room(name, found)
        if math.prod(room) != tensor.size or any(size > most for size, most in zip(found.shape, room, strict=True)):
            raise InputError(self._without_room(name, found, tensor))
        if room != found.shape:
            tensor.fill_(math.nan if tensor.dtype.kind == "float" else 0)
        if found.size:
            with tensor.reshape(*room) as whole, whole[tuple(slice(size) for size in found.shape)] as part:
                ops.assign(part, found)

    def _without_room(self, name: str, found: Tensor, tensor: Tensor) -> str:
        own = [axis for axis in self._network.own_dimensions(name) if axis]
        sizes = ", ".join(f"{axis} = {self._network.dims.get(axis, 100)}" for axis in own)
        advice = (
            f"the most that there can be, such as dims = {{ {sizes} }}" if own else "a name in the file, and a size"
        )
        return (
            f"{self._network.source}: output {name!r} has the shape {found.shape} now, and {tensor.shape} is drawn; "
            f"give its dimensions {advice}"
        )


def without_batch(shape: tuple[S, ...]) -> tuple[S, ...]:
    """Leading axes of 1 taken away, as long as one is left."""
    while len(shape) > 1 and shape[0] == 1:
        shape = shape[1:]
    return shape


def without_room(output: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The elements of an output that hold what the network found, and `found` in their shape."""
    found = found.reshape(found.shape[found.ndim - output.ndim :])
    return output[tuple(slice(size) for size in found.shape)], found
