"""`EnergyModel`: models whose mechanical energy does not grow, unless something outside adds to it."""

from __future__ import annotations

import zlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from .. import ops
from .base import DiagnosticSpec, Limit
from .model_bases import FixedStepModel

if TYPE_CHECKING:  # a scene is checked without a GPU, and so without tensors
    from ..tensor import Tensor

EACH = 32  # frames from one measurement of the lowest energy to the next
ENERGY_STATE, ENERGY_SCALARS = ("lowest_energy",), ("judged", "judged_frames")
ENERGY_LIMITS: Mapping[str, Limit] = {
    "energy_gain": Limit(0.02, "the simulation gains energy that nothing adds: shorter time steps, or softer materials")
}
ENERGY_DIAGNOSTICS: Mapping[str, DiagnosticSpec] = {
    "energy_gain": DiagnosticSpec(
        "mechanical energy gained since its lowest value, relative to that of a fall from the top; 0 while a tool, an "
        "input, wind, rain, a spring or an open edge may add some"
    )
}


class Energy(NamedTuple):
    """The mechanical `total`, from any level, and the `scale` to which its changes are relative: one element each."""

    total: Tensor
    scale: Tensor


class EnergyModel(FixedStepModel):
    """A model without a full balance of its energy: energy is lost to friction, and must not be gained.

    After the steps of a frame, every `EACH` frames, the lowest energy is recorded, and anew when anything but the state
    has changed. Subclasses call `_judge_energy` there, and add `ENERGY_STATE`, `ENERGY_SCALARS`, `ENERGY_LIMITS` and
    `ENERGY_DIAGNOSTICS` to their tables.
    """

    _judged = 0.0  # a number for the parameters for which `lowest_energy` is; 0: for none
    _judged_frames = 0.0

    @abstractmethod
    def _mechanical_energy(self) -> Energy:
        """The energy now."""

    @abstractmethod
    def _adds_energy(self) -> bool:
        """Whether something other than the tool may add energy."""

    def _judge_energy(self) -> None:
        """Record the energy after the steps of a frame, if it is to be recorded now."""
        idle = self._interaction is None and not self._adds_energy()
        key = 1.0 + zlib.crc32(repr(self._params).encode()) if idle else 0.0
        lowest = self._tensors["lowest_energy"]
        if key and key != self._judged:
            ops.assign(lowest, self._mechanical_energy().total)
            self._judged_frames = 0.0
        elif key and self._judged_frames % EACH == 0.0:
            ops.assign(lowest, ops.minimum(lowest, self._mechanical_energy().total))
        self._judged = key
        self._judged_frames += 1.0

    def _forget_energy(self) -> None:
        """Begin anew, for `reset`."""
        self._judged = self._judged_frames = 0.0
        ops.assign(self._tensors["lowest_energy"], 0.0)

    def _energy_gain(self, energy: Energy) -> dict[str, Tensor]:
        """The diagnostic: negative where energy was lost since it was recorded."""
        gain = (energy.total - self._tensors["lowest_energy"]) / energy.scale
        return {"energy_gain": gain if self._judged else ops.absolute(gain * 0.0)}
