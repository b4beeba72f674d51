"""`SdfSurface`: the surface where a network's signed distance is 0, found anew at each step while its latent moves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...gpu import Kernel
from ...ops.mlp import Mlp
from ...params import file, vector
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, OutputSpec, compare
from ..data import sdf_grid
from ..kernels import Kernels
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from ..quantities import amount, array_size
from .mlp_file import Layers, evaluate, read_layers, same_shapes

SHADER, LATTICE = "models/sdf_surface.wgsl", "models/sdf_lattice.wgsl"
COMPARED = 1024  # directions that the reference follows
START = 1.6  # radius at which rays begin; within the ball that the network was trained in
TRACED, SECANTS = 1, 5  # steps along each ray: first by the distance itself, then by secants
SPACING = 0.03  # distance between samples for the gradient at a vertex
FLATTEST, STEEPEST = 0.15, 2.0  # as in the shader
CORNERS = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / 3.0**0.5


class Params(params.Params):
    """Selection, resolution and speed of change of the solid."""

    weights: Path = file("assets/weights/sdf.safetensors", suffixes=[".safetensors"], doc="the trained network")
    resolution: int = array_size(97, "vertices along each side of the unfolded surface", min=3, max=2048)
    latent: tuple[float, ...] | Literal["in turn"] = vector(
        "in turn",
        slider_min=-1.2,
        slider_max=1.2,
        words=("in turn",),
        doc="latent vector of three components, which selects the solid",
    )
    morph_speed: float = amount(
        0.4, "speed from one solid to the next: transitions per second", max=20.0, slider_max=2.0, unit="/s"
    )
    hold_time: float = amount(1.0, "time for which a solid is held", max=1e3, slider_max=5.0, unit="s")
    sdf_resolution: int = sdf_grid.resolution(256, purpose=" for other models")
    sdf_extent: float = sdf_grid.extent(1.3, min=0.1, max=3.0)


class Network(NamedTuple):
    """A signed distance f(x, z) and the latents z (solids, 3) that it was trained with."""

    layers: Layers
    latents: np.ndarray


class SdfSurface(NamedTensorsModel):
    """A family of star-shaped solids in one network (Park et al. 2019, "DeepSDF"), meshed without a volume of samples.

    Each vertex is on a ray from the center, which is intersected with the surface from outside, first by sphere
    tracing (Hart 1996), then by the secant method. Normals are gradients of the distance by finite differences of four
    points. Ray directions come from a square folded around the sphere, so the grid is closed and has no poles. The
    vertex of a ray without an intersection is the center.

    A pure function of parameters and time: the same values give the same bits on one GPU. Trained by
    assets/training/train_sdf.py.
    """

    Params = Params
    scalars = ("turn",)
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "radius": DiagnosticSpec("mean radius"),
        "residual": DiagnosticSpec("largest distance from the surface before the last root-finding step"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.resolution
        outputs = {
            "position": OutputSpec((n, n, 3), "f32", "vertices of the surface"),
            "normal": OutputSpec((n, n, 3), "f32", "unit normals, outwards"),
            "level": OutputSpec((n, n), "f32", "mean curvature: above 0 on ridges, below 0 in valleys"),
        }
        return outputs | sdf_grid.distance_specs(sdf_grid.samples_of(params.sdf_resolution))

    def step(self, dt: float) -> None:
        if self._params.latent == "in turn":
            rate, rest = self._params.morph_speed, self._params.hold_time
            self._turn = (self._turn + dt * rate / (1.0 + rate * rest)) % len(self._network.latents)
        self._plan.update(latent=self._latent())
        if self._lattice is not None:
            self._lattice.sample(self._latent())

    def diagnostics(self) -> dict[str, Tensor]:
        return {"radius": ops.mean(self._rays[:, 0]), "residual": ops.max(ops.absolute(self._distances))}

    def compare_with_reference(self) -> list[Comparison]:
        """Some of the vertices as they are at this time, in float64."""
        self.step(0.0)
        pick = slice(None, None, max(self._count // COMPARED, 1))
        positions, normals, levels = surface(
            self._network, self._directions.numpy()[pick].astype(float), np.array(self._latent())
        )
        return [
            compare("position", self._positions.numpy().reshape(-1, 3)[pick], positions, 1e-4),
            compare("normal", self._normals.numpy().reshape(-1, 3)[pick], normals, 1e-3),
            compare("level", self._levels.numpy().ravel()[pick], levels, 1e-2),
            *self._compared_lattice(),
        ]

    def reset(self) -> None:
        self._turn = 0.0
        self.step(0.0)

    def state(self) -> dict[str, Tensor]:
        return self._views

    def reload_file(self, name: str) -> bool:
        network = _read(self._params.weights)
        if not same_shapes(network.layers, self._network.layers):
            return False
        self._net.load(*zip(*network.layers, strict=True))
        self._network = network
        return True

    def _create(self, parts: Parts) -> None:
        n, side = self._params.resolution, sdf_grid.samples_of(self._params.sdf_resolution)
        self._count = count = n**2
        self._network = _read(self._params.weights)
        layers = zip(*self._network.layers, strict=True)
        self._net = parts.enter_context(Mlp(*layers, "silu", name=f"{self.name}.network"))
        self._directions = parts.copied("directions", directions(n).astype(np.float32))
        points, around = parts.empty("points", count, 6), parts.empty("around", 4 * count, 6)
        self._distances, nearby = (
            parts.empty("distances", count, 1),
            parts.empty("nearby", 4 * count, 1),
        )
        self._rays = parts.zeros("rays", count, 3)
        self._positions, self._normals = (parts.empty(what, n, n, 3) for what in ("position", "normal"))
        self._levels = parts.empty("level", n, n)
        self._plan = parts.plan("step")
        add = Kernels(SHADER, self._tensors, {"count": count, "start": START, "spacing": SPACING}).add
        add(self._plan, "begin", count, traced=0)
        for turn in range(TRACED + SECANTS):
            self._evaluate(points, self._distances)
            add(self._plan, "march", count, traced=int(turn < TRACED))
        add(self._plan, "surround", 4 * count, traced=0)
        self._evaluate(around, nearby)
        outputs: dict[str, Any] = {"positions": self._positions, "normals": self._normals, "levels": self._levels}
        add(self._plan, "finish", count, *outputs, distances=nearby, traced=0, **outputs)
        self._lattice = Lattice(parts, self._net, side, self._params.sdf_extent) if side else None

    def _compared_lattice(self) -> list[Comparison]:
        if self._lattice is None:
            return []
        distances = self._lattice.distances.numpy()
        pick = slice(None, None, max(distances.size // COMPARED, 1))
        at = sdf_grid.lattice(len(distances), self._params.sdf_extent)[pick]
        reference = distance(self._network.layers, at, np.array(self._latent()))
        return [compare("distance", distances.ravel()[pick], reference, 1e-5)]

    def _evaluate(self, points: Tensor, distances: Tensor) -> None:
        with self._plan.recording():
            self._net(points, out=distances)

    def _latent(self) -> tuple[float, ...]:
        """Which solid it is now: at rest on one of those that the network learned, or in transition to the next."""
        latent = self._params.latent
        if not isinstance(latent, str):
            return latent
        known, start = self._network.latents, int(self._turn)
        resting = self._params.morph_speed * self._params.hold_time
        gone = min(max((self._turn - start) * (1.0 + resting) - resting, 0.0), 1.0)
        fraction = gone * gone * (3.0 - 2.0 * gone)
        here, there = known[start % len(known)], known[(start + 1) % len(known)]
        return tuple(float(x) for x in here + fraction * (there - here))


class Lattice:
    """`distances` (side, side, side), f32, z first: the network at points from -`reach` to `reach` along each axis.

    Closed with `parts`, in which `distances` are the tensor `distance`.
    """

    def __init__(self, parts: Parts, net: Mlp, side: int, reach: float):
        count = side**3
        points = parts.empty("lattice", count, 6)
        self.distances = parts.empty("distance", side, side, side)
        self._plan = parts.plan("lattice")
        self._plan.dispatch(Kernel.load(LATTICE), count, overwrites=("points",), points=points, side=side, reach=reach)
        with self._plan.recording(), self.distances.reshape(count, 1) as out:
            net(points, out=out)

    def sample(self, latent: tuple[float, ...]) -> None:
        """Record the sampling of this solid, unless it is what was sampled last."""
        self._plan.update(latent=latent)


def directions(n: int) -> np.ndarray:
    """Unit vectors (n², 3) by row, from a square of n by n points that is folded around the sphere.

    The middle of the square is +y, its corners -y, and points of an edge that mirror each other meet. Equal areas stay
    equal (Clarberg 2008, "Fast Equal-Area Mapping of the (Hemi)Sphere using SIMD").
    """
    v, u = np.meshgrid(*2 * [np.linspace(-1.0, 1.0, n)], indexing="ij")
    inner = 1.0 - np.abs(u) - np.abs(v)  # above 0 in the diamond that is the upper half
    radius = 1.0 - np.abs(inner)
    lean = np.divide(np.abs(v) - np.abs(u), radius, out=np.zeros_like(u), where=radius > 0)
    angle = np.pi / 4 * (lean + 1.0)
    wide = radius * np.sqrt(2.0 - radius**2)
    x, z = np.copysign(wide * np.cos(angle), u), np.copysign(wide * np.sin(angle), v)
    y = np.copysign(1.0 - radius**2, inner)
    return np.stack([x, y, z], axis=-1).reshape(-1, 3)


def distance(layers: Layers, x: np.ndarray, latent: np.ndarray) -> np.ndarray:
    """The network's reference in float64: signed distances (n,) of points (n, 3)."""
    return evaluate(layers, x, latent)[:, 0]


def surface(network: Network, along: np.ndarray, latent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reference in float64: positions (n, 3), normals (n, 3) and levels (n,) in directions (n, 3)."""
    radius, last, nearest = np.full(len(along), START), np.zeros(len(along)), np.zeros(len(along))
    for turn in range(TRACED + SECANTS):
        far = distance(network.layers, radius[:, None] * along, latent)
        step = np.where(radius == last, 1.0, radius - last)
        slope = 1.0 if turn < TRACED else np.clip((far - nearest) / step, FLATTEST, STEEPEST)
        radius, last, nearest = np.clip(radius - far / slope, 0.0, START), radius, far
    positions = radius[:, None] * along
    around = [distance(network.layers, positions + SPACING * corner, latent) for corner in CORNERS]
    gradients = 0.75 / SPACING * (np.stack(around, 1) @ CORNERS)
    steep = np.linalg.norm(gradients, axis=1)
    return positions, gradients / steep[:, None], 0.75 * np.sum(around, 0) / (SPACING**2 * steep)


def _read(path: Path) -> Network:
    """Layers and latents. Raises `InputError` if the file holds something else."""
    layers, arrays = read_layers(path, "an sdf_surface", 6, 1, "a distance", ["latents"])
    latents = np.asarray(arrays["latents"], np.float64)
    if latents.ndim != 2 or latents.shape[1] != 3 or not len(latents):
        raise InputError(f"{path}: expected latents of shape (solids, 3), got {latents.shape}")
    return Network(layers, latents)
