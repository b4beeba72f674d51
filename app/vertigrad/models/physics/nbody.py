"""`NBody`: gravitating bodies, every pair: two disc galaxies falling towards each other."""

from __future__ import annotations

from ...gpu import gpu
from ..kernels import Kernels
from ..parts import Parts
from ..quantities import array_size
from .gravity_bodies import GravityModel, GravityParams

MANY = 1 << 15  # bodies from which on there are threads enough although each adds up the forces of two
SOFTWARE_MANY, SOFTWARE_EACH = 1 << 8, 16  # on a software adapter, where reading a body takes longer than its force


class Params(GravityParams):
    """Every pair of bodies counts, so there are fewer."""

    count: int = array_size(8192, "number of bodies; a third are dark halo", min=2, max=1 << 20, auto=True)


class NBody(GravityModel):
    """All-pairs gravity with leapfrog steps; position, velocity and mass are interleaved and drawn without a copy.

    A step costs count² interactions. The same seed gives the same initial state, and on one GPU the same run bit for
    bit: sums have a fixed order. The drag tool acts as one more body, with the tool's strength as its mass and the
    tool's radius as its softening.
    """

    Params = Params

    def _force_bound(self) -> float:
        return 1e-5

    def _record(self, parts: Parts) -> None:
        n, each = self._count, bodies_each(self._count)
        defines = {"TILE": 64, "UNROLL": 32 if each < SOFTWARE_EACH else 2, "EACH": each}
        kernels = Kernels("models/nbody.wgsl", self._tensors, {"count": n}, defines)
        kernels.add(self._step, "drift", n)
        for plan in (self._step, self._force):
            kernels.add(plan, "kick", -(-n // each), "accelerations")
        kernels.add(self._energy, "energy", -(-n // each), "energies")


def bodies_each(count: int) -> int:
    """How many bodies one invocation works on."""
    if gpu().adapter.kind == "software":
        return SOFTWARE_EACH if count >= SOFTWARE_MANY else 1
    return 2 if count >= MANY else 1
