"""`GrayScott`: two substances that react and spread over a plane, a sphere, a ring or any mesh, and make patterns."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...params import choice, integer, number
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..interaction import Gesture, Interaction
from ..kernels import Kernels
from ..model_bases import FixedStepModel
from ..parts import Parts
from ..quantities import amount, array_size, log_number
from ..reference import gray_scott as reference
from . import surfaces
from .gray_scott_start import discs

SHADER = "models/gray_scott.wgsl"
BUNDLE = 8  # pairs of steps that are replayed at once where so many are due
PAINTED = 0.5  # what v is brought to by the paint tool
FASTEST = 0.4  # [1/time] rate of the reaction that the step allows for: v² where v is 0.63
SPIKED = 0.9  # [1/time] more for each unit of diffusion_u / diffusion_v above 2: u that flows in feeds higher spikes
LEAST_SPREAD = 3e-6  # [length²/time] of v, for that ratio: spikes are no narrower than the spacing of points
SAFE = 0.9  # of the longest step that is stable

# Feed and kill within the regions of Pearson's figure 3, by his letters.
CLASSES = {
    "alpha": (0.010, 0.047),
    "beta": (0.026, 0.051),
    "gamma": (0.022, 0.051),
    "delta": (0.030, 0.055),
    "epsilon": (0.018, 0.055),
    "zeta": (0.026, 0.059),
    "eta": (0.034, 0.063),
    "theta": (0.030, 0.057),
    "iota": (0.046, 0.0594),
    "kappa": (0.050, 0.063),
    "lambda": (0.0367, 0.0649),
    "mu": (0.046, 0.065),
}


class Params(params.Params):
    """Units of length and time are Pearson's: his plane is 2.5 long, and he takes steps of 1."""

    surface: str = choice(
        "plane",
        ("plane", "sphere", "torus", "mesh"),
        rebuild=True,
        doc="domain: a periodic square, a sphere, a torus, or the mesh of the inputs vertices and triangles",
    )
    resolution: int = array_size(
        256, "points along each side of the plane; sphere and torus have as many in total", min=8, max=2048
    )
    pattern: str = choice(
        "own", ("own", *CLASSES), doc="preset of feed and kill: one of Pearson's pattern classes; own: as set below"
    )
    feed: float = amount(0.037, "feed rate F, at which u is replenished", max=0.2, slider_max=0.1, unit="1/time")
    kill: float = amount(0.06, "kill rate k, at which v is removed", max=0.2, slider_max=0.08, unit="1/time")
    diffusion_u: float = amount(2e-5, "diffusion coefficient of u", max=1e-3, slider_max=5e-5, unit="length²/time")
    diffusion_v: float = amount(1e-5, "diffusion coefficient of v", max=1e-3, slider_max=5e-5, unit="length²/time")
    size: float = log_number(
        2.5, "size of the domain: side of a square of the same area", min=0.1, max=100.0, slider_max=10.0, unit="length"
    )
    time_step: float = number(
        1.0, min=0.01, max=2.0, unit="time", doc="longest time step; shorter where it would be unstable"
    )
    time_scale: float = amount(1200.0, "model time that passes per second", max=1e5, slider_max=4000.0, unit="time/s")
    initial_spots: int = integer(12, min=1, max=1000, slider_max=100, scale="log", doc="number of initial spots of v")
    height: float = number(
        0.15, min=-10.0, max=10.0, slider_min=-1.0, slider_max=1.0, doc="displacement of the surface where v = 1"
    )


class GrayScott(FixedStepModel):
    """Gray & Scott's reaction U + 2V → 3V, V → P with diffusion (Pearson 1993, Science 261, 189), on any surface.

    Explicit Euler steps as in the paper. The Laplacian is the nine-point stencil on the plane and that of linear finite
    elements on a mesh (see `surfaces`); diffusion conserves u and v. The initial state is u = 1 and v = 0, with spots
    of several sizes and 1 % noise: with the paper's single square some patterns die out. Surfaces are drawn at a fixed
    size (plane 2 long, sphere of radius 1, a mesh as it is), whatever `size` is for the reaction.

    The time step is `time_step`, or `SAFE` times the stable limit for diffusion and the highest expected spikes of v.
    If v rises higher, the reaction rate is limited to the fastest stable one, and `cfl` is above 1. Steps are taken in
    pairs. The same seed gives the same bits on one GPU.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "vertices": "mesh vertices, (n, 3) f32, read when the model is built; duplicates are merged",
        "triangles": "mesh triangles, (t, 3) u32 or i32 indices of vertices",
    }
    gestures = frozenset({Gesture.PAINT})
    saved = ("field", "position", "normal")
    limits: ClassVar[Mapping[str, Limit]] = {
        "cfl": Limit(1.0, "the explicit time step is unstable: lower time_step, or diffusion_u and diffusion_v")
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "u": DiagnosticSpec("mean of `u` over the surface"),
        "v": DiagnosticSpec("mean of `v` over the surface"),
        "largest_v": DiagnosticSpec("largest `v`"),
        "cfl": DiagnosticSpec("time step, relative to the longest stable one"),
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        feed = () if params.pattern == "own" else ("feed", "kill")
        points = ("resolution",) if params.surface == "mesh" else ()
        return {
            **dict.fromkeys(feed, f'pattern = "{params.pattern}" sets it; choose "own" to set it here'),
            **dict.fromkeys(points, 'surface = "mesh" uses the vertices of the mesh'),
        }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.resolution
        rows = (n, n) if params.surface == "plane" else (None,)
        specs = {
            "position": OutputSpec((*rows, 3), "f32", "surface positions, displaced by v", columns=slice(3)),
            "normal": OutputSpec((*rows, 3), "f32", "unit normals", columns=slice(3)),
            "u": OutputSpec(rows, "f32", "concentration of the fed substance, 0 to 1", "field", 0),
            "v": OutputSpec(rows, "f32", "concentration of the autocatalyst", "field", 1),
        }
        if params.surface != "plane":
            specs["index"] = OutputSpec((None, 3), "u32", "triangles: three indices of position each")
        return specs

    def __init__(
        self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int, start: np.ndarray | None = None
    ):
        """`start` gives u and v (points, 2) at first, instead of spots placed by `seed`."""
        self._start, self._mesh = start, _mesh(params, inputs)
        if self._mesh is None:
            self._points, self._normals = surfaces.plane(params.resolution)
            self._edge = surfaces.EDGE / params.resolution
            self._area, self._steepest = surfaces.EDGE**2, 16.0 / 3.0 / self._edge**2
        else:
            self._points, self._normals, self._edge = self._mesh.points, self._mesh.normals, 0.0
            self._area, self._steepest = self._mesh.area, self._mesh.steepest
        super().__init__(name, params, inputs, seed)

    def step(self, dt: float) -> None:
        step = self._length()
        pairs = self._clock.due(dt * self._params.time_scale, 2.0 * step)
        values = self._stepping(step)
        if pairs and self._interaction is not None:
            self._paint.replay(**_brush(self._interaction, 2.0 * step * pairs))
        for _ in range(pairs // BUNDLE):
            self._many.replay(**values)
        for _ in range(pairs % BUNDLE):
            self._pair.replay(**values)
        self._show.replay(height=self._params.height)

    def diagnostics(self) -> dict[str, Tensor]:
        means, most = ops.sum(self._field * self._areas, axis=0), ops.max(self._field[:, 1])
        cfl = (most * most + self._spreading()) * (0.5 * self._length())
        return {"u": means[0:1].contiguous(), "v": means[1:2].contiguous(), "largest_v": most, "cfl": cfl}

    def compare_with_reference(self) -> list[Comparison]:
        """Two steps of the whole field, and the surface that is drawn, in float64."""
        before, step = self._field.numpy().astype(float), self._length()
        self._pair.replay(**self._stepping(step))
        self._show.replay(height=self._params.height)
        field = before
        for _ in range(2):
            field = reference.step(field, self._laplacian(field), **self._stepping(step))
        after = self._field.numpy().astype(float)
        positions, normals = reference.raised(
            self._points, self._normals, after[:, 1], self._gradient(after[:, 1]), self._params.height
        )
        return [
            compare("u and v", after, field, 1e-6),
            compare("position", self._raised.numpy(), positions, 1e-6),
            compare("normal", self._tilted.numpy(), normals, 1e-4),
        ]

    def reset(self) -> None:
        self._clock.remainder = 0.0
        first = self._start
        if first is None:
            turn = surfaces.EDGE if self._mesh is None else None
            drawn = math.sqrt(self._area) / self._params.size
            first = discs(self._points, turn, self._params.initial_spots, drawn, self._seed)
        ops.assign(self._field, np.ascontiguousarray(first, np.float32))
        self._show.replay(height=self._params.height)

    def _create(self, parts: Parts) -> None:
        n, mesh = len(self._points), self._mesh
        padding = np.zeros((n, 1))
        parts.copied("points", np.hstack([self._points, padding]))
        parts.copied("normals", np.hstack([self._normals, padding]))
        areas = np.full(n, 1.0 / n) if mesh is None else mesh.areas / mesh.area
        self._areas = parts.copied("areas", areas[:, None])
        self._field, between = parts.empty("field", n, 2), parts.empty("between", n, 2)
        self._raised, self._tilted = parts.empty("position", n, 3), parts.empty("normal", n, 3)
        if mesh is not None:
            indices = {"starts": mesh.starts, "neighbors": mesh.neighbors, "index": mesh.triangles}
            for what, array in indices.items():
                parts.copied(what, array.astype(np.uint32))
            parts.copied("weights", mesh.weights)

        self._pair, self._many, self._paint, self._show = parts.plans("steps", "steps", "paint", "show")
        side = self._params.resolution if mesh is None else 0
        known = {"count": n, "side": side, "edge": self._edge}
        add = Kernels(SHADER, self._tensors, known, {"MESH": mesh is not None}).add
        turns = [(self._field, between), (between, self._field)]
        stepping = ("dt", "diffusion", "feed", "kill", "fastest")
        for plan, pairs in ((self._pair, 1), (self._many, BUNDLE)):
            for before, after in turns * pairs:
                add(plan, "react", n, "after", before=before, after=after, replayed=stepping)
        brush = ("origin", "direction", "radius", "amount", "goal")
        add(self._paint, "paint", n, after=self._field, replayed=brush)
        drawn = {"raised": self._raised, "tilted": self._tilted}
        add(self._show, "show", n, *drawn, before=self._field, **drawn, replayed=("height",))

    def _reaction(self) -> dict[str, float]:
        own = (self._params.feed, self._params.kill)
        feed, kill = CLASSES.get(self._params.pattern, own)
        return {"feed": feed, "kill": kill}

    def _diffusion(self) -> tuple[float, float]:
        scale = self._area / self._params.size**2
        return self._params.diffusion_u * scale, self._params.diffusion_v * scale

    def _length(self) -> float:
        """Of a step: Euler's is stable while it is shorter than 2 over the fastest rate."""
        ratio = self._params.diffusion_u / max(self._params.diffusion_v, LEAST_SPREAD)
        fastest = FASTEST + SPIKED * max(ratio - 2.0, 0.0)
        return min(self._params.time_step, SAFE * 2.0 / (self._spreading() + fastest))

    def _spreading(self) -> float:
        """The fastest rate without the reaction of v [1/time]."""
        return self._steepest * max(self._diffusion()) + sum(self._reaction().values())

    def _stepping(self, step: float) -> dict[str, Any]:
        """Fields of `react` for a step of this length; `fastest` is where `cfl` comes to 1."""
        fastest = max(2.0 / step - self._spreading(), 0.0)
        return {"dt": step, "diffusion": self._diffusion(), "fastest": fastest, **self._reaction()}

    def _laplacian(self, field: np.ndarray) -> np.ndarray:
        if self._mesh is not None:
            return reference.laplacian_of_mesh(field, self._mesh)
        side = self._params.resolution
        return reference.laplacian_of_plane(field.reshape(side, side, 2), self._edge).reshape(-1, 2)

    def _gradient(self, v: np.ndarray) -> np.ndarray:
        if self._mesh is not None:
            return reference.gradient_on_mesh(v, self._mesh)
        side = self._params.resolution
        return reference.gradient_on_plane(v.reshape(side, side), self._edge)


def _mesh(params: Params, inputs: Mapping[str, Tensor]) -> surfaces.Surface | None:
    """The mesh, None for the plane. Raises `InputError` if inputs are missing, too many, or no mesh."""
    if (params.surface == "mesh") != (inputs.keys() == {"vertices", "triangles"}) or (
        params.surface != "mesh" and inputs
    ):
        raise InputError(
            f"surface is {params.surface!r} and inputs are {sorted(inputs)}; "
            'with surface = "mesh", and only then, give both vertices and triangles'
        )
    if params.surface == "plane":
        return None
    if params.surface != "mesh":
        return {"sphere": surfaces.sphere, "torus": surfaces.torus}[params.surface](params.resolution**2)
    vertices, triangles = inputs["vertices"].numpy(), inputs["triangles"].numpy()
    if vertices.ndim != 2 or vertices.shape[1] != 3 or triangles.ndim != 2 or triangles.shape[1] != 3:
        raise InputError(f"vertices {vertices.shape} and triangles {triangles.shape} must be (n, 3) and (t, 3)")
    return surfaces.surface(*surfaces.merged(vertices.astype(float), triangles.astype(np.int64)))


def _brush(interaction: Interaction, time: float) -> dict[str, Any]:
    """The uniforms of painting for `time`: it brings v to `PAINTED`, or to 0 at negative strength."""
    return {
        "origin": interaction.origin,
        "direction": interaction.direction,
        "radius": interaction.radius,
        "amount": 1.0 - math.exp(-0.02 * abs(interaction.strength) * time),
        "goal": PAINTED if interaction.strength > 0.0 else 0.0,
    }
