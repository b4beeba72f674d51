"""`Mpm`: water, jelly, snow and sand in one simulation, by the material point method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...gpu import Kernel, Plan, gpu
from ...params import angle, choice, color, integer, number, vector
from ...tensor import Tensor, f32, i32, u32
from ..base import Comparison, Limit, Model, OutputSpec, compare
from ..stepping import FixedStep
from ..touch import Gesture, Touch
from . import mpm_twin
from .mpm_bodies import SHAPES, bodies, filled
from .mpm_grid import Grid
from .mpm_matter import CONSTANTS, slowest_wave_step, uniforms

SHADER = "models/mpm.wgsl"
WORKGROUP = {"software": 32}  # invocations for a block; processors pay for each, needed or not
TOGETHER = 8  # steps in the longer of two plans: a frame costs the CPU few replays
PULL = 40.0  # 1/s, at which matter takes on the velocity of the hand
AWAY = -1e6  # m, where what is not there is


class Params(params.Params):
    """The box, what falls into it, and what that is made of. Lengths in metres; the floor's middle is the origin."""

    count: int = integer(
        40_000, min=64, max=1 << 23, scale="log", rebuild=True, auto=True, doc="particles, of one size"
    )
    resolution: int = integer(
        48,
        min=8,
        max=512,
        soft_max=192,
        scale="log",
        rebuild=True,
        doc="cells along the box's longest edge",
    )
    box: tuple[float, ...] = vector(
        (1.2, 0.9, 0.8), min=0.1, max=100.0, soft_max=3.0, unit="m", rebuild=True, doc="inner size of the box"
    )
    gravity: float = number(9.81, min=0.0, max=100.0, soft_max=20.0, unit="m/s²", doc="downwards, along -y")
    time_step: float = number(
        2e-3, min=1e-5, max=1e-2, unit="s", scale="log", doc="longest physical step; fast waves make it shorter"
    )
    courant: float = number(0.5, min=0.05, max=0.6, doc="cells that the fastest wave may cross in a physical step")
    rate: float = number(1.0, min=0.0, max=10.0, soft_max=2.0, doc="seconds of this world in a simulated second")
    friction: float = number(0.5, min=0.0, max=10.0, soft_max=1.0, doc="Coulomb's, at walls, floor and obstacles")

    water: str = choice("box", SHAPES, rebuild=True, doc="what the water starts as")
    water_at: tuple[float, ...] = vector(
        (-0.44, 0.25, 0.0), min=-100.0, max=100.0, unit="m", rebuild=True, gizmo="position", doc="middle of the water"
    )
    water_size: tuple[float, ...] = vector(
        (0.28, 0.46, 0.7), min=0.01, max=100.0, unit="m", rebuild=True, doc="its size; a ball takes the first"
    )
    bulk: float = number(
        5e4, min=1e3, max=1e7, unit="Pa", scale="log", doc="bulk modulus of the water: how hard it is to compress"
    )
    viscosity: float = number(0.05, min=0.0, max=100.0, soft_max=10.0, unit="Pa s", doc="of the water; honey has 10")
    jelly: str = choice("box", SHAPES, rebuild=True, doc="what the jelly starts as")
    jelly_at: tuple[float, ...] = vector(
        (0.02, 0.62, 0.2), min=-100.0, max=100.0, unit="m", rebuild=True, gizmo="position", doc="middle of the jelly"
    )
    jelly_size: tuple[float, ...] = vector(
        (0.22, 0.22, 0.22), min=0.01, max=100.0, unit="m", rebuild=True, doc="its size; a ball takes the first"
    )
    jelly_young: float = number(1.5e4, min=100.0, max=1e7, unit="Pa", scale="log", doc="Young's modulus of the jelly")
    snow: str = choice("ball", SHAPES, rebuild=True, doc="what the snow starts as")
    snow_at: tuple[float, ...] = vector(
        (0.02, 0.6, -0.2), min=-100.0, max=100.0, unit="m", rebuild=True, gizmo="position", doc="middle of the snow"
    )
    snow_size: tuple[float, ...] = vector(
        (0.28, 0.28, 0.28), min=0.01, max=100.0, unit="m", rebuild=True, doc="its size; a ball takes the first"
    )
    snow_young: float = number(8e3, min=100.0, max=1e7, unit="Pa", scale="log", doc="Young's modulus of fresh snow")
    hardening: float = number(10.0, min=0.0, max=20.0, doc="exponent at which packed snow is stiffer")
    compression: float = number(
        0.025, min=1e-3, max=0.5, scale="log", doc="strain at which snow gives way when pressed"
    )
    stretch: float = number(0.0075, min=1e-4, max=0.5, scale="log", doc="strain at which snow tears")
    sand: str = choice("box", SHAPES, rebuild=True, doc="what the sand starts as")
    sand_at: tuple[float, ...] = vector(
        (0.4, 0.35, 0.0), min=-100.0, max=100.0, unit="m", rebuild=True, gizmo="position", doc="middle of the sand"
    )
    sand_size: tuple[float, ...] = vector(
        (0.22, 0.5, 0.3), min=0.01, max=100.0, unit="m", rebuild=True, doc="its size; a ball takes the first"
    )
    sand_young: float = number(5e4, min=100.0, max=1e7, unit="Pa", scale="log", doc="Young's modulus of the sand")
    friction_angle: float = angle(35.0, min=0.0, max=60.0, doc="of the sand, inside: how steep it can lie")
    poisson: float = number(0.25, min=0.0, max=0.45, doc="Poisson's ratio of jelly, snow and sand")

    ball_at: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0),
        min=-100.0,
        max=100.0,
        unit="m",
        gizmo="position",
        doc="middle of a ball in the way",
    )
    ball_radius: float = number(0.0, min=0.0, max=100.0, soft_max=0.5, unit="m", doc="its radius; 0: there is none")
    obstacle_corner: tuple[float, ...] = vector(
        (0.0, 0.0, 0.0), min=-100.0, max=100.0, unit="m", doc="where the first of the obstacle's distances lies"
    )
    obstacle_spacing: float = number(
        0.05, min=1e-3, max=10.0, unit="m", scale="log", doc="from one of the obstacle's distances to the next"
    )

    water_color: tuple[float, float, float] = color("#2f8fd0", doc="the colour of water; where it is fast it is white")
    jelly_color: tuple[float, float, float] = color("#e2567a", doc="the colour of jelly")
    snow_color: tuple[float, float, float] = color("#f2f6fa", doc="the colour of fresh snow")
    sand_color: tuple[float, float, float] = color("#d9a860", doc="the colour of sand")


class Mpm(Model):
    """MLS-MPM (Hu et al. 2018) with APIC transfers (Jiang et al. 2015); shaders/models/mpm.wgsl has the equations.

    Water, jelly, snow and sand are kinds of particles and meet on the grid (common/matter.wgsl says how each is
    strained). A physical step is `time_step` long, or as long as the stiffest matter's waves need for `courant` cells;
    of a frame in which more than 64 are due the rest is dropped. Dragging moves matter along with the hand.

    The same seed gives the same bits on one adapter: particles add to the grid in whole numbers, for which order does
    not matter. With eight particles in a cell a number stands for 2^-24 of the heaviest particle's mass, and of that
    times a cell a step; a node holds 16 to 32 times the mass of a full cell, `crowding` tells what share is used.
    """

    Params = Params
    inputs: ClassVar = {
        "obstacle": "signed distances (nz, ny, nx), f32 [m], below 0 inside of what stands in the way",
        "shape": "signed distances (nz, ny, nx), f32, below 0 inside: what a mesh of matter fills of its box",
    }
    gestures = frozenset({Gesture.DRAG})
    limits: ClassVar = {
        "cfl": Limit(0.5, "a shorter time step: matter should not cross half a cell in one"),
        "elastic_cfl": Limit(0.6, "a lower courant: the waves of the stiffest matter are not resolved"),
        "crowding": Limit(1.0, "a finer grid, or fewer particles: more mass at a node than its numbers can hold"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        n = params.count
        bodies(params)
        Grid.of(params)
        return {
            "position": OutputSpec((n, 3), "f32", "where each particle is [m]"),
            "velocity": OutputSpec((n, 3), "f32", "how it moves [m/s]"),
            "speed": OutputSpec((n,), "f32", "length of its velocity [m/s]"),
            "material": OutputSpec((n,), "u32", "0 water, 1 jelly, 2 snow, 3 sand"),
            "color": OutputSpec((n, 3), "f32", "the colour of its matter"),
            "floor": OutputSpec((2, 2, 3), "f32", "a surface just under the box [m]"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params, self._count = name, params, params.count
        self._grid = Grid.of(params)
        self._obstacle = _checked(name, "obstacle", inputs.get("obstacle"))
        shape = _checked(name, "shape", inputs.get("shape"))
        if shape is None and "mesh" in (params.water, params.jelly, params.snow, params.sand):
            raise InputError(f"{name}: matter that starts as a mesh needs the input shape, such as a mesh's distance")
        self._clock, self._touch = FixedStep(), None
        start = filled(bodies(params, None if shape is None else shape.numpy()), params.count, seed, self._grid.cell)
        self._volume = start.volume
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            self._make(stack, start.positions, start.materials, seed)
            self._record(stack)
            self.reset()
            self._held = stack.pop_all()

    @property
    def length(self) -> float:
        """Seconds of a physical step, with the parameters as they are."""
        longest = slowest_wave_step(self._params, self._grid.cell)
        return min(self._params.time_step, self._params.courant * longest)

    def step(self, dt: float) -> None:
        length = self.length
        due = self._clock.due(dt * self._params.rate, length)
        fields = self._fields(length)
        for _ in range(due // TOGETHER):
            self._steps.replay(**fields)
        for _ in range(due % TOGETHER):
            self._step.replay(**fields)
        self._paint.replay(**fields)

    def touch(self, touch: Touch | None) -> None:
        self._touch = touch

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        """Energies [J], length of `momentum` [kg m/s], `mass` of particles and on the grid [kg], and shares of limits.

        `cfl`: cells that the fastest particle crosses in a step, `elastic_cfl` that the fastest wave does at most;
        `crowding`: of the mass that a node can hold. `time_step` [s] is the one in use.
        """
        length = self.length
        self._measure.replay(**self._fields(length))
        with ops.sum(self._energies, axis=0) as energies, ops.sum(self._momenta[:, 0:3], axis=0) as total:
            kinetic, elastic, potential, mass = (energies[i].contiguous() for i in range(4))
            with total * total as squares, ops.sum(squares) as square:
                momentum = ops.sqrt(square)
        with ops.max(self._momenta[:, 3]) as fastest, ops.max(self._nodes[:, 3]) as fullest:
            cfl = fastest * (length / self._grid.cell)
            crowding = fullest * (1.0 / (self._grid.capacity(self._volume) * self._constants.unit))
        with kinetic + elastic as internal:
            energy = internal + potential
        return {
            "kinetic": kinetic,
            "elastic": elastic,
            "potential": potential,
            "energy": energy,
            "momentum": momentum,
            "mass": mass,
            "grid_mass": ops.sum(self._nodes[:, 3]),
            "cfl": cfl,
            "elastic_cfl": Tensor.full(1, length / slowest_wave_step(self._params, self._grid.cell)),
            "crowding": crowding,
            "time_step": Tensor.full(1, length),
        }

    def compare_with_twin(self) -> list[Comparison]:
        """A physical step, in float64 and without whole numbers on the grid."""
        fields = self._fields(self.length)
        obstacle = None if self._obstacle is None else self._obstacle.numpy()
        motions, affine, strains = (x.numpy().astype(float) for x in (self._motions, self._affine, self._strains))
        before = mpm_twin.Particles.of(motions, affine, strains, self._materials.numpy())
        twin = mpm_twin.step(before, self._known | fields, obstacle)
        self._step.replay(**fields)
        ours = [tensor.numpy() for tensor in (self._motions, self._affine, self._strains)]
        motions, affine, strains = twin.laid_out()
        return [
            compare("position", ours[0][:, 0:3], motions[:, 0:3], 1e-6),
            compare("velocity", ours[0][:, 4:7], motions[:, 4:7], 1e-4),
            compare("velocity gradient", ours[1], affine, 2e-3),
            compare("strain", ours[2], strains, 1e-5),
            compare("mass on the grid", self._nodes[:, 3].contiguous().numpy().sum()[None], twin.mass, 1e-5),
        ]

    def reset(self) -> None:
        self._clock.rest = 0.0
        ops.assign(self._motions, self._first)
        ops.assign(self._affine, 0.0)
        ops.assign(self._strains, self._first_strains)
        ops.assign(self._nodes, 0.0)
        self._paint.replay(**self._fields(self.length))

    def state(self) -> dict[str, Tensor]:
        return {
            "motions": self._motions,
            "affine": self._affine,
            "strains": self._strains,
            "nodes": self._nodes,
            "colors": self._colors,
        }

    def numbers(self) -> dict[str, float]:
        return {"rest": self._clock.rest}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._clock.rest = numbers["rest"]

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _make(self, stack: ExitStack, positions: np.ndarray, materials: np.ndarray, seed: int) -> None:
        n, name, held = self._count, self.name, stack.enter_context
        motions, strains = np.zeros((n, 8), np.float32), np.zeros((n, 12), np.float32)
        motions[:, 0:3], motions[:, 3] = positions, np.random.default_rng([seed, 1]).random(n)
        strains[:, [0, 5, 10]] = 1.0
        strains[:, 3] = materials != mpm_twin.SAND
        self._first = held(Tensor.from_numpy(motions, f"{name}.first_motions"))
        self._first_strains = held(Tensor.from_numpy(strains, f"{name}.first_strains"))
        self._materials = held(Tensor.from_numpy(materials, f"{name}.material"))
        self._motions = held(Tensor.empty((n, 8), name=f"{name}.motions"))
        self._affine = held(Tensor.empty((n, 12), name=f"{name}.affine"))
        self._strains = held(Tensor.empty((n, 12), name=f"{name}.strains"))
        self._colors = held(Tensor.empty((n, 3), name=f"{name}.color"))
        self._floor = held(Tensor.from_numpy(self._grid.floor, f"{name}.floor"))
        self._energies = held(Tensor.empty((n, 4), name=f"{name}.energies"))
        self._momenta = held(Tensor.empty((n, 4), name=f"{name}.momenta"))
        self._places = held(Tensor.empty((n, 2), u32, f"{name}.places"))
        self._order = held(Tensor.empty(n, u32, f"{name}.order"))
        blocks = math.prod(self._grid.blocks)
        self._counts = held(Tensor.zeros(blocks + 1, u32, f"{name}.counts"))
        self._starts = held(Tensor.empty(blocks + 1, u32, f"{name}.starts"))
        self._sums = held(Tensor.zeros((self._grid.nodes, 4), i32, f"{name}.sums"))
        self._nodes = held(Tensor.zeros((self._grid.nodes, 4), f32, f"{name}.nodes"))
        self._constants = uniforms(self._params, self._volume)
        self._known: dict[str, Any] = {
            "count": n,
            "volume": self._volume,
            "grain": self._grid.grain(self._volume),
            "obstacle_size": (1, 1, 1) if self._obstacle is None else self._obstacle.shape[::-1],
            **self._grid.fields,
        }
        self._views = {
            "position": self._motions[:, 0:3],
            "velocity": self._motions[:, 4:7],
            "speed": self._motions[:, 7],
            "material": self._materials[:],
            "color": self._colors[:],
            "floor": self._floor[:],
        }
        stack.callback(lambda: [view.close() for view in self._views.values()])

    def _record(self, stack: ExitStack) -> None:
        self._step = stack.enter_context(Plan(f"{self.name}.step"))
        self._steps = stack.enter_context(Plan(f"{self.name}.steps"))
        self._paint = stack.enter_context(Plan(f"{self.name}.paint"))
        self._measure = stack.enter_context(Plan(f"{self.name}.measure"))
        self._record_step(self._step)
        for _ in range(TOGETHER):
            self._record_step(self._steps)
        seen = {"motions": self._motions, "strained": self._strains, "materials": self._materials}
        self._add(self._paint, "paint", self._count, overwrites=("colors",), colors=self._colors, **seen)
        measured = {"energies": self._energies, "momenta": self._momenta}
        self._add(self._measure, "measure", self._count, overwrites=tuple(measured), **seen, **measured)

    def _record_step(self, plan: Plan) -> None:
        n, blocks = self._count, self._grid.blocks
        by_block = (_workgroup() * blocks[0], blocks[1], blocks[2])
        lists = {"starts": self._starts, "ordered": self._order}
        counted = {"counts": self._counts, "places": self._places}
        self._add(plan, "list", n, overwrites=("places",), motions=self._motions, **counted)
        ops.record_scan(plan, "sum", self._counts, self._starts, exclusive=True)
        found = {"starts": self._starts, "listed": self._places}
        self._add(plan, "put_in_order", n, overwrites=("order",), order=self._order, **found)
        given = {"motions": self._motions, "materials": self._materials, "gradients": self._affine}
        taken = {"strains": self._strains, "sums": self._sums, "counts": self._counts}
        self._add(plan, "to_grid", by_block, **lists, **given, **taken)
        nodes = {"totals": self._sums, "nodes": self._nodes}
        if self._obstacle is not None:
            nodes["obstacle"] = self._obstacle
        self._add(plan, "move_grid", self._grid.nodes, overwrites=("nodes",), **nodes)
        moved = {"moved": self._nodes, "moving": self._motions, "affine": self._affine}
        self._add(plan, "to_particles", by_block, **lists, **moved)

    def _add(self, plan: Plan, entry: str, threads: Any, **arguments: Any) -> None:
        defines = {"WORKGROUP": _workgroup(), "OBSTACLE": self._obstacle is not None, **CONSTANTS}
        plan.dispatch(Kernel.load(SHADER, entry, defines), threads, **self._known, **arguments)

    def _fields(self, length: float) -> dict[str, Any]:
        """What a step is told, with the parameters as they are."""
        p, touch = self._params, self._touch
        self._constants = uniforms(p, self._volume)
        return {
            **self._constants.named(),
            "dt": length,
            "gravity": p.gravity,
            "friction": p.friction,
            "ball": (*p.ball_at, p.ball_radius),
            "obstacle_low": tuple(p.obstacle_corner),
            "obstacle_cell": p.obstacle_spacing,
            "hand": (AWAY,) * 3 if touch is None else touch.point,
            "hand_velocity": (0.0,) * 3 if touch is None else touch.velocity,
            "hand_radius": 1.0 if touch is None else max(touch.radius, 1e-6),
            "hand_share": 0.0 if touch is None else 1.0 - math.exp(-PULL * touch.strength * length),
            "foam": 0.5 * math.sqrt(2.0 * p.gravity * p.box[1]) + 1e-6,
            "water": tuple(p.water_color),
            "jelly": tuple(p.jelly_color),
            "snow": tuple(p.snow_color),
            "sand": tuple(p.sand_color),
        }


def _workgroup() -> int:
    return WORKGROUP.get(gpu().adapter.kind, 128)


def _checked(name: str, what: str, distances: Tensor | None) -> Tensor | None:
    """The distances of the input `what`. Raises `InputError` if they are not a volume of them."""
    if distances is not None and (distances.ndim != 3 or distances.dtype is not f32 or min(distances.shape) < 2):
        raise InputError(
            f"{name}: {what} is {distances.dtype} of shape {distances.shape}; "
            "it must be f32 signed distances (nz, ny, nx), two or more along each axis"
        )
    return distances
