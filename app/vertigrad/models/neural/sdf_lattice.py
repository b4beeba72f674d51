"""`Lattice`: a network's signed distance sampled on a cube, for models that want it as a grid."""

from __future__ import annotations

from ...gpu import Kernel
from ...ops.mlp import Mlp
from ..parts import Parts

SHADER = "models/sdf_lattice.wgsl"


class Lattice:
    """`distances` (side, side, side), f32, z first: the network at points from -`reach` to `reach` along each axis.

    Closed with `parts`, in which `distances` are the tensor `distance`.
    """

    def __init__(self, parts: Parts, net: Mlp, side: int, reach: float):
        self._latent: tuple[float, ...] | None = None
        count = side**3
        points = parts.empty("lattice", count, 6)
        self.distances = parts.empty("distance", side, side, side)
        self._plan = parts.plan("lattice")
        self._plan.dispatch(Kernel.load(SHADER), count, overwrites=("points",), points=points, side=side, reach=reach)
        with self._plan.recording(), self.distances.reshape(count, 1) as out:
            net(points, out=out)

    def sample(self, latent: tuple[float, ...]) -> None:
        """Record the sampling of this solid, unless it is the one that was sampled last."""
        if latent != self._latent:
            self._plan.replay(latent=latent)
            self._latent = latent

    def forget(self) -> None:
        """Sample anew the next time: the network has changed, or the distances were exchanged for others."""
        self._latent = None
