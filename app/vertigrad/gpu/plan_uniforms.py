"""`PlanUniforms`: the uniform data of all dispatches of a plan, and the fields of it that each replay sets."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import ShaderError
from .dispatch import Dispatch
from .uniforms import UniformRing
from .wgsl import UniformLayout

UNCHANGING = (float, int, tuple)  # types whose values can be compared with those of the replay before


class _Alike(NamedTuple):
    """Locations of one open field with one format: the first, and the words of all others, None if there are none."""

    layout: UniformLayout
    start: int
    first: slice
    others: np.ndarray | slice | None


class PlanUniforms:
    """One image in which the dispatches' structs are one after the other, each at the ring's alignment.

    An open field is packed and checked once and copied to the other dispatches that have it, so that a plan of
    hundreds of dispatches with the same time step costs no more than one.
    """

    def __init__(self, ring: UniformRing):
        self._ring = ring
        self.image = bytearray()
        self.starts: list[int] = []
        self._open: dict[str, list[tuple[UniformLayout, int]]] = {}
        self._alike: dict[str, list[_Alike]] | None = None
        self._words = np.empty(0, np.uint32)
        self._set: dict[str, Any] = {}

    def append(self, dispatch: Dispatch) -> None:
        """Add the struct of `dispatch`, its open fields to be set."""
        self._alike, self._words = None, np.empty(0, np.uint32)  # no views, so that the image can grow
        self._set.clear()
        start = self._ring.aligned(len(self.image))
        self.image.extend(bytes(start - len(self.image)) + dispatch.image)
        self.starts.append(start)
        layout = dispatch.kernel.interface.uniform
        for name in dispatch.open:
            assert layout is not None
            self._open.setdefault(name, []).append((layout, start))

    def set(self, plan: str, fields: Mapping[str, Any]) -> None:
        """Set every open field. Raises `ShaderError`, naming `plan`, for a missing, an unknown or an unfit one."""
        if fields.keys() != self._open.keys():
            raise ShaderError(f"plan {plan!r} needs values for {sorted(self._open)}, got {sorted(fields)}")
        if self._alike is None:
            self._alike = {name: _grouped(name, locations) for name, locations in self._open.items()}
            self._words = np.frombuffer(self.image, np.uint32)
        for name, value in fields.items():
            if type(value) in UNCHANGING and value == self._set.get(name):
                continue
            self._set.pop(name, None)  # a value that does not fit leaves zeros behind
            for layout, start, first, others in self._alike[name]:
                layout.pack(self.image, start, name, value)
                if others is not None:
                    self._words[others] = self._words[first]
            self._set[name] = value


def _grouped(name: str, locations: list[tuple[UniformLayout, int]]) -> list[_Alike]:
    by_format: dict[tuple[str, int], list[tuple[UniformLayout, int]]] = {}
    for layout, start in locations:
        code = layout.fields[name].format
        alone = start if struct.calcsize(code) % 4 else -1  # half words share theirs with a neighbor
        by_format.setdefault((code, alone), []).append((layout, start))
    grouped = []
    for (code, _), same in by_format.items():
        words = -(-struct.calcsize(code) // 4)
        at = [(start + layout.fields[name].offset) // 4 for layout, start in same]
        grouped.append(_Alike(*same[0], slice(at[0], at[0] + words), _others(at, words)))
    return grouped


def _others(at: list[int], words: int) -> np.ndarray | slice | None:
    """The words of all locations but the first, (locations, words); a slice if they are single and evenly spaced."""
    if len(at) == 1:
        return None
    step = at[1] - at[0]
    if words == 1 and at == list(range(at[0], at[0] + step * len(at), step)):
        return slice(at[1], at[-1] + 1, step)
    return np.array(at[1:], np.intp)[:, None] + np.arange(words)
