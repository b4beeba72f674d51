"""`Inspected`: what of a network's inside is needed besides its outputs, while it is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from ..closing import Closing
from ..indexed import parsed
from ..memory import Owner
from ..tensor import Tensor
from .probe import Probe
from .unit_axes import UnitAxes
from .values import Value


class Element(NamedTuple):
    """The type of an element of a sequence, and its shape; None for one that is no tensor."""

    dtype: str
    shape: tuple[int, ...] | None


class HeldTensors(Closing):
    """Tensors inside a network that have memory of their own until `close`: those that are computed anyway.

    They take `most` bytes at most; tensors for which no room is left are left out.
    """

    def __init__(self, most: int = 0):
        self.values: dict[str, Value] = {}
        self.tensors: dict[str, Tensor] = {}
        self._owners: set[Owner] = set()
        self._left = most

    def add(self, name: str, value: Value) -> bool:
        """Hold the memory of a tensor on the GPU, if there is room; returns whether there is."""
        tensor = value.tensor
        assert tensor is not None
        if tensor.owner not in self._owners:
            if tensor.block.nbytes > self._left:
                return False
            self._left -= tensor.block.nbytes
            self._owners.add(tensor.owner)
        self.tensors[name] = held = tensor.detach()
        self.values[name] = replace(value, tensor=held)
        return True

    def close(self) -> None:
        """Give the memory back. Idempotent."""
        for tensor in self.tensors.values():
            tensor.close()


@dataclass(frozen=True)
class Inspected:
    """Of the tensors in `masked`, outputs of the outermost graph, units can be set to zero later, along `unit_axes`;
    `units` are zero to begin with.

    `nested` are names within branches and bodies of loops, and of elements of sequences. `probe` takes statistics of
    what the nodes of the outermost graph compute, `held` holds the memory of that.
    """

    masked: frozenset[str] = frozenset()
    nested: frozenset[str] = frozenset()
    probe: Probe | None = None
    held: HeldTensors = field(default_factory=HeldTensors)
    unit_axes: UnitAxes | None = None
    units: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @cached_property
    def sequences(self) -> frozenset[str]:
        """The names of sequences of which elements may be in `nested`."""
        return frozenset(found[0] for name in self.nested if (found := parsed(name)) is not None)
