"""`Lattice`: a network's signed distance sampled on a cube, for models that want it as a grid."""

from __future__ import annotations

from ...gpu import Kernel
from ...ops.mlp import Mlp
from ..parts import Parts

SHADER = "models/sdf_lattice.wgsl"


class Lattice:
    """`distances` (side, side, side), f32, z first: the network at points from -`reach` to `reach` along each axis.

    Close it.
    """

    def __init__(self, name: str, net: Mlp, side: int, reach: float):
        self._latent: tuple[float, ...] | None = None
        count = side**3
        with Parts(name) as parts:
            points = parts.empty("lattice", count, 6)
            self.distances = parts.empty("distance", side, side, side)
            self._plan = parts.plan("lattice")
            self._plan.dispatch(
                Kernel.load(SHADER), count, overwrites=("points",), points=points, side=side, reach=reach
            )
            with self._plan.recording(), self.distances.reshape(count, 1) as out:
                net(points, out=out)
            self._parts = parts.pop_all()

    def sample(self, latent: tuple[float, ...]) -> None:
        """Record the sampling of this solid, unless it is the one that was sampled last."""
        if latent != self._latent:
            self._plan.replay(latent=latent)
            self._latent = latent

    def forget(self) -> None:
        """Sample anew the next time: the network has changed, or the distances were exchanged for others."""
        self._latent = None

    def close(self) -> None:
        """Give up the memory. Idempotent."""
        self._parts.close()
