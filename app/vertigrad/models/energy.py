"""`EnergyModel`: models whose mechanical energy does not grow, unless something outside adds to it."""

from __future__ import annotations

import math
import zlib
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from .. import ops
from ..tensor import Tensor, u32
from .base import DiagnosticSpec, Limit
from .kernels import Kernels
from .model_bases import FixedStepModel

if TYPE_CHECKING:
    from ..gpu import Plan
    from .parts import Parts

LEAST_GRAVITY = 1.0  # m/s², to which changes of the energy of weightless matter are relative
EACH = 32  # frames from one measurement of the lowest energy to the next
SHADER = "models/energy_input.wgsl"
WORKGROUP, PART = 256, 64  # invocations that compare an input, and elements for each
ENERGY_STATE, ENERGY_SCALARS = ("lowest_energy", "input_hashes", "input_changed"), ("judged", "judged_frames")
ENERGY_LIMITS: Mapping[str, Limit] = {
    "energy_gain": Limit(0.02, "the simulation gains energy that nothing adds: shorter time steps, or softer materials")
}
ENERGY_DIAGNOSTICS: Mapping[str, DiagnosticSpec] = {
    "energy_gain": DiagnosticSpec(
        "mechanical energy gained since its lowest value, with that of bodies, relative to that of a fall from the "
        "top; 0 while a tool, wind, rain, a spring, an open edge, or an input that changes or moves may add some"
    )
}


class Energy(NamedTuple):
    """The mechanical `total`, from any level, and the `scale` to which its changes are relative: one element each."""

    total: Tensor
    scale: Tensor


class EnergyModel(FixedStepModel):
    """A model without a full balance of its energy: energy is lost to friction, and must not be gained.

    After the steps of a frame, every `EACH` frames, the lowest energy is recorded, and anew when anything but the state
    has changed: parameters, or what another model gives. Subclasses call `_create_energy`, `_judge_energy` after steps
    and `_forget_energy`, and add `ENERGY_STATE`, `ENERGY_SCALARS`, `ENERGY_LIMITS` and `ENERGY_DIAGNOSTICS` to their
    tables.
    """

    _judged = 0.0  # a number for the parameters for which `lowest_energy` is; 0: for none
    _judged_frames = 0.0
    _compare_input: Plan | None = None

    @abstractmethod
    def _mechanical_energy(self) -> Energy:
        """The energy now, also of bodies that the model moves."""

    @abstractmethod
    def _adds_energy(self) -> bool:
        """Whether something may add energy, other than the tool and the input given to `_create_energy`."""

    def _create_energy(self, parts: Parts, source: Tensor | None, kind: str = "") -> None:
        """Create the tensors. `source` adds no energy while it does not change, nor moves if it is of kind "placed"."""
        groups = 1 if source is None else math.ceil(source.size / (WORKGROUP * PART))
        hashes, changed = parts.zeros("input_hashes", groups, dtype=u32), parts.zeros("input_changed", 1, dtype=u32)
        parts.zeros("lowest_energy", 1)
        if source is None:
            return
        self._compare_input = plan = parts.plan("compare_input")
        with plan.recording():
            flat = parts.enter_context(parts.enter_context(source.contiguous()).reshape(source.size))
        tensors = {"input": flat, "hashes": hashes, "changed": changed}
        kernels = Kernels(SHADER, tensors, {"count": source.size}, {"PART": PART, "MOVES": kind == "placed"})
        kernels.add(plan, "compare", WORKGROUP * groups)

    def _judge_energy(self) -> None:
        """Record the energy after the steps of a frame, if it is to be recorded now."""
        if self._compare_input is not None:
            self._compare_input.replay()
        idle = self._interaction is None and not self._adds_energy()
        key = 1.0 + zlib.crc32(repr(self._params).encode()) if idle else 0.0
        lowest, changed = self._tensors["lowest_energy"], self._tensors["input_changed"]
        begins = key != self._judged
        if key and (begins or self._judged_frames % EACH == 0.0):
            now = self._mechanical_energy().total
            ops.assign(lowest, now if begins else ops.where(changed, now, ops.minimum(lowest, now)))
            ops.assign(changed, 0)
            self._judged_frames = 0.0
        self._judged = key
        self._judged_frames += 1.0

    def _forget_energy(self) -> None:
        """Begin anew, for `reset`."""
        self._judged = self._judged_frames = 0.0
        for name in ENERGY_STATE:
            ops.assign(self._tensors[name], 0)

    def _energy_gain(self, energy: Energy) -> dict[str, Tensor]:
        """The diagnostic: negative where energy was lost since it was recorded."""
        gain = (energy.total - self._tensors["lowest_energy"]) / energy.scale
        if not self._judged:
            return {"energy_gain": ops.absolute(gain * 0.0)}
        return {"energy_gain": ops.where(self._tensors["input_changed"], 0.0, gain)}
