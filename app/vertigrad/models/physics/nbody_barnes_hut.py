"""`NBodyBarnesHut`: gravity among hundreds of thousands of bodies by a Barnes-Hut tree: galaxies, or a cluster."""

from __future__ import annotations

from ...params import choice, integer, number
from ..parts import Parts
from .barnes_hut_tree import BarnesHutTree
from .galaxy import Bodies
from .gravity_bodies import GravityModel, GravityParams
from .plummer import plummer


class Params(GravityParams):
    """A cluster has the units of `plummer`, galaxies those of `galaxy`."""

    count: int = integer(32768, min=2, max=1 << 22, scale="log", rebuild=True, auto=True, doc="number of bodies")
    start: str = choice(
        "galaxies",
        ("galaxies", "cluster"),
        rebuild=True,
        doc="initial state: two disc galaxies that collide, or a Plummer sphere in equilibrium",
    )
    theta: float = number(
        0.7, min=0.05, max=1.0, doc="opening angle: radius over distance up to which a node acts as one body"
    )


class NBodyBarnesHut(GravityModel):
    """Gravity with leapfrog steps by a Barnes-Hut tree, which is rebuilt at each step: see `barnes_hut_tree`.

    A step costs about count · log(count). The median relative error of the forces is 1e-4 at theta = 0.5, 5e-4 at 0.7
    and 2e-3 at 1 (20,000 bodies in two galaxies); forces are not exactly antisymmetric, so momentum is conserved only
    to that accuracy. The same seed gives the same bits on one GPU. The drag tool acts as one more body, with the tool's
    strength as its mass.
    """

    Params = Params
    force_parameters = ("softening", "theta")
    is_exact = False

    @staticmethod
    def stars(params: Params) -> int:
        return params.count if params.start == "cluster" else GravityModel.stars(params)

    @staticmethod
    def first(params: Params, seed: int) -> Bodies:
        return plummer(params.count, seed=seed) if params.start == "cluster" else GravityModel.first(params, seed)

    def _force_bound(self) -> float:
        """Twice the errors that were measured, and half of those of nodes without moments."""
        return 0.008 * self._params.theta**3 + 1e-5

    def _record(self, parts: Parts) -> None:
        tree = BarnesHutTree(self._bodies, parts)
        tree.kernels.add(self._step, "drift", self._count)
        for plan, entry in ((self._step, "kick"), (self._force, "kick"), (self._energy, "energy")):
            tree.record(plan)
            tree.walk(plan, entry)
