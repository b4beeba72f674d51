"""`Smoke`: warm air that rises, with what it carries, around obstacles in a box."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, Literal

from ... import ops, params
from ...errors import ShapeError
from ...gpu import Kernel, Plan
from ...ops.philox import key_of, stream, stream_words
from ...params import choice, integer, number, vector
from ...tensor import Tensor, f32
from ..base import Comparison, Limit, Model, OutputSpec, compare
from ..stepping import FixedStep
from ..touch import Gesture, Touch
from . import smoke_twin
from .smoke_pressure import Cells, Multigrid

SHADER = "models/smoke.wgsl"
BLOCK = 16  # cells come in such blocks along each axis, so that the pressure has coarse grids that fit
COARSE = 96  # cells along the height up to which a step is as long as it is said to be
MOST_COURANT = 8.0  # edges that air may go in a step
STRAY = 20  # steps from one place of a swaying source to the next
SPREAD = 1.0 / 6.0  # most of diffusivity times time over edge² in a sweep: beyond, values would swing
AIR = 1.2  # density of air [kg/m³]
OPEN = {"closed": (0, 0, 0), "open top": (0, 1, 0), "open": (1, 1, 1)}


class Params(params.Params):
    """The box stands on y = 0, around x = z = 0. Width and depth are rounded to blocks of 16 cells."""

    cells: int = integer(
        64,
        min=16,
        max=512,
        soft_min=48,
        rebuild=True,
        auto=True,
        doc="cells along the height; rounded to a multiple of 16",
    )
    height: float = number(2.0, min=0.01, max=1e3, soft_max=10.0, unit="m", rebuild=True, doc="of the box")
    width: float = number(1.5, min=0.01, max=1e3, soft_max=10.0, unit="m", rebuild=True, doc="of the box, along x")
    depth: float = number(1.5, min=0.01, max=1e3, soft_max=10.0, unit="m", rebuild=True, doc="of the box, along z")
    sides: Literal["closed", "open top", "open"] = choice(
        "open top", ["closed", "open top", "open"], doc="where air may go out; the floor is always closed"
    )
    length: float = number(
        1 / 60,
        min=1e-4,
        max=1 / 15,
        soft_min=1 / 240,
        unit="s",
        doc="length of a physical step; shorter in proportion with more than 96 cells",
    )
    cycles: int = integer(2, min=1, max=16, soft_max=6, doc="V-cycles of a step's pressure; each leaves a seventh")
    lift: float = number(
        0.05, min=0.0, max=10.0, soft_max=0.2, unit="m/s²/K", doc="buoyancy of warm air; 9.8 / 300 near 300 K"
    )
    weight: float = number(
        0.4, min=0.0, max=100.0, soft_max=4.0, unit="m/s²", doc="downward pull on smoke of density 1"
    )
    confinement: float = number(
        1.5, min=0.0, max=20.0, soft_max=6.0, unit="1/s", doc="how strongly eddies that the grid wears down are fed"
    )
    diffusivity: float = number(0.0, min=0.0, max=0.01, soft_max=1e-3, unit="m²/s", doc="of density and warmth")
    cooling: float = number(0.4, min=0.0, max=100.0, soft_max=4.0, unit="1/s", doc="rate at which warmth is lost")
    fading: float = number(0.0, min=0.0, max=100.0, soft_max=4.0, unit="1/s", doc="rate at which smoke vanishes")
    source: tuple[float, ...] = vector((0.0, 0.2, 0.0), unit="m", gizmo="position", doc="where smoke comes out")
    source_radius: float = number(0.16, min=0.0, max=100.0, soft_max=0.5, unit="m", doc="of the source; 0: none")
    density: float = number(1.0, min=0.0, max=100.0, soft_max=4.0, doc="of the smoke that comes out")
    temperature: float = number(
        60.0, min=0.0, max=2e3, soft_max=300.0, unit="K", doc="of the smoke that comes out, above the surroundings"
    )
    jet: float = number(0.4, min=0.0, max=50.0, soft_max=4.0, unit="m/s", doc="upward speed in the source, at least")
    sway: float = number(0.3, min=0.0, max=10.0, soft_max=1.0, doc="how far the source strays, over its radius")
    ball: tuple[float, ...] = vector((0.0, 0.85, 0.0), unit="m", gizmo="position", doc="middle of a sphere in the way")
    ball_radius: float = number(0.22, min=0.0, max=100.0, soft_max=0.6, unit="m", doc="of the sphere; 0: none")
    tracers: int = integer(20_000, min=1, max=1 << 22, scale="log", rebuild=True, doc="points carried by the air")
    life: float = number(5.0, min=0.1, max=1e3, soft_max=20.0, unit="s", doc="of a tracer")


class Smoke(Model):
    """Incompressible air on a staggered grid, with smoke and warmth; equations and sources are in `smoke_twin`.

    Advection is MacCormack's, which is stable for any step; what it gains or loses of density and warmth all make good
    in proportion. Air goes `MOST_COURANT` cells in a step at most. The pressure is solved by multigrid in cycles
    whose number is fixed, beginning with the last step's. All is gathered, nothing scattered: the same seed gives the
    same bits on one adapter. Dragging stirs, and emitting brings out the matter of the source.
    """

    Params = Params
    inputs: Mapping[str, str] = {
        "obstacle": "signed distance to an obstacle, below 0 within: (nz, ny, nx) cells that fill the box"
    }
    gestures = frozenset({Gesture.DRAG, Gesture.EMIT})
    limits: Mapping[str, Limit] = {
        "cfl": Limit(5.0, "air crosses more cells in a step than are followed well: a smaller length, or fewer cells"),
        "divergence": Limit(0.02, "air is squeezed: more cycles"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        x, y, z = cells_of(params)
        return {
            "density": OutputSpec((z, y, x), "f32", "smoke in each cell"),
            "temperature": OutputSpec((z, y, x), "f32", "above the surroundings [K]"),
            "velocity": OutputSpec((z, y, x, 3), "f32", "in the middle of each cell [m/s]"),
            "position": OutputSpec((params.tracers, 3), "f32", "where each tracer is"),
            "color": OutputSpec((params.tracers,), "f32", "temperature where each tracer is [K]"),
            "age": OutputSpec((params.tracers,), "f32", "of each tracer [s]; below 0 while it waits at the source"),
            "ball": OutputSpec((1, 3), "f32", "middle of the sphere"),
            "ball_radius": OutputSpec((1,), "f32", "its radius; 0: none"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params, self._seed = name, params, seed
        self._size = cells_of(params)
        self._edge = params.height / self._size[1]
        self._obstacle = inputs.get("obstacle")
        self._stepping, self._turn, self._touch = FixedStep(most=8), 0, None
        if self._obstacle is not None and (self._obstacle.ndim != 3 or self._obstacle.dtype is not f32):
            shape, dtype = self._obstacle.shape, self._obstacle.dtype
            raise ShapeError(f"{name}.obstacle: {dtype} of shape {shape}; signed distances are f32 (nz, ny, nx)")
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            self._make(stack)
            self._record()
            self._views = self._look()
            stack.callback(lambda: [view.close() for view in self._views.values()])
            self.reset()
            self._held = stack.pop_all()

    @property
    def length(self) -> float:
        """The length of a physical step [s]."""
        return self._params.length * min(1.0, COARSE / self._params.cells)

    def step(self, dt: float) -> None:
        for _ in range(self._stepping.due(dt, self.length)):
            self._advance()

    def touch(self, touch: Touch | None) -> None:
        self._touch = touch

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        """What a step does at most, and what there is in all.

        `cfl`: cells that air crosses in a step. `divergence`: share of its air that a cell gains or loses in a step.
        `mass`: density times volume [m³]; `warmth` [K m³]; `energy` of motion [J], of air of 1.2 kg/m³.
        """
        volume, courant = self._edge**3, self.length / self._edge
        self._outflow.replay(**self._fields())
        with (
            ops.absolute(self._faces) as speeds,
            ops.absolute(self._pressure.rhs) as flows,
            ops.max(speeds) as speed,
            ops.max(flows) as flow,
            ops.sum(self._views["density"]) as density,
            ops.sum(self._views["temperature"]) as warmth,
            ops.sum_square(self._velocity) as squares,
        ):
            return {
                "cfl": speed * courant,
                "divergence": flow * courant,
                "mass": density * volume,
                "warmth": warmth * volume,
                "energy": squares * (0.5 * AIR * volume),
            }

    def compare_with_twin(self) -> list[Comparison]:
        """A step of all of the air, in float64."""
        faces, matter = self._faces.numpy()[..., :3].astype(float), self._matter.numpy().astype(float)
        velocity, pressure = self._velocity.numpy().astype(float), self._pressure.pressure.numpy().astype(float)
        fields, before = self._fields(), smoke_twin.Air(faces, matter, velocity, pressure)
        self._advance()
        solid = self._pressure.solid.numpy() != 0
        after = smoke_twin.step(before, fields, solid, self._params.cycles, 2 * self._sweep_pairs())
        return [
            compare("density", self._views["density"].numpy(), after.matter[..., 0], 1e-4),
            compare("temperature", self._views["temperature"].numpy(), after.matter[..., 1], 1e-4),
            compare("velocity", self._velocity.numpy(), after.velocity, 1e-3),
        ]

    def reset(self) -> None:
        self._stepping.rest, self._turn = 0.0, 0
        for tensor in (self._faces, self._matter, self._velocity, self._pressure.pressure, self._tracers):
            ops.assign(tensor, 0.0)
        self._walls.replay(**self._fields())
        self._drift.replay(**self._fields())
        self._turn = 1

    def state(self) -> dict[str, Tensor]:
        return {
            "faces": self._faces,
            "matter": self._matter,
            "velocity": self._velocity,
            "pressure": self._pressure.pressure,
            "tracers": self._tracers,
            "color": self._color,
            "ball": self._ball,
        }

    def numbers(self) -> dict[str, float]:
        return {"rest": self._stepping.rest, "turn": self._turn}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._stepping.rest, self._turn = numbers["rest"], int(numbers["turn"])

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _make(self, stack: ExitStack) -> None:
        x, y, z = self._size
        name, held = self.name, stack.enter_context

        def tensor(kind: str, *shape: int) -> Tensor:
            return held(Tensor.zeros(shape, name=f"{name}.{kind}"))

        self._faces, self._guess_faces, self._moved_faces = (
            tensor(kind, z + 1, y + 1, x + 1, 4) for kind in ("faces", "guess_faces", "moved_faces")
        )
        self._matter, self._guess_matter, self._moved_matter = (
            tensor(kind, z, y, x, 2) for kind in ("matter", "guess_matter", "moved_matter")
        )
        self._velocity = tensor("velocity", z, y, x, 3)
        self._spin, self._swirl = tensor("spin", z, y, x, 4), tensor("swirl", z, y, x, 4)
        self._tracers, self._color = tensor("tracers", self._params.tracers, 4), tensor("color", self._params.tracers)
        self._ball, self._totals = tensor("ball", 1, 4), tensor("totals", 4)
        self._pressure = held(Multigrid(self._size, f"{name}.pressure"))
        plans = (
            held(Plan(f"{name}.{part}")) for part in ("walls", "carry", "spread", "push", "cycle", "drift", "look")
        )
        self._walls, self._carry, self._spread, self._push, self._cycle, self._drift, self._outflow = plans

    def _look(self) -> dict[str, Tensor]:
        return {
            "density": self._matter[..., 0],
            "temperature": self._matter[..., 1],
            "velocity": self._velocity[:],
            "position": self._tracers[:, 0:3],
            "color": self._color[:],
            "age": self._tracers[:, 3],
            "ball": self._ball[:, 0:3],
            "ball_radius": self._ball[:, 3],
        }

    def _record(self) -> None:
        faces, matter, solid = self._faces, self._matter, self._pressure.solid
        given = {} if self._obstacle is None else {"obstacle": self._obstacle}
        self._on_cells(self._walls, "solidify", out_solid=solid, ball=self._ball, **given)
        self._pressure.record_walls(self._walls)

        carry, guess, moved = self._carry, self._guess_matter, self._moved_matter
        wind = {"faces": faces, "velocity": self._velocity}
        self._on_cells(carry, "predict_matter", matter=matter, solid=solid, out_matter=guess, **wind)
        reading = {"matter": matter, "guess_matter": guess, "solid": solid}
        self._on_cells(carry, "correct_matter", out_matter=moved, **reading, **wind)
        self._on_cells(carry, "tally", faces=faces, matter=matter, moved_matter=moved, out_vectors=self._spin)
        with self._spin.reshape(-1, 4) as rows:
            ops.record_reduce(carry, "sum", rows, self._totals, axis=0)
        self._add(carry, "make_good", math.prod(self._size), {"out_matter": moved, "totals": self._totals})
        self._on_faces(carry, "predict_faces", out_faces=self._guess_faces, **wind)
        self._on_faces(carry, "correct_faces", guess_faces=self._guess_faces, out_faces=self._moved_faces, **wind)
        self._on_cells(carry, "find_spin", velocity=self._velocity, out_vectors=self._spin)
        self._on_cells(carry, "find_swirl", spin=self._spin, out_vectors=self._swirl)

        for source, target in ((moved, guess), (guess, moved)):
            self._on_cells(self._spread, "diffuse", moved_matter=source, solid=solid, out_matter=target)

        push = self._push
        self._on_cells(push, "emit_matter", moved_matter=self._moved_matter, solid=solid, out_matter=matter)
        reading = {"moved_faces": self._moved_faces, "matter": matter, "swirl": self._swirl, "solid": solid}
        self._on_faces(push, "push", out_faces=faces, **reading)
        for plan in (push, self._outflow):
            self._on_cells(plan, "diverge", faces=faces, solid=solid, out_numbers=self._pressure.rhs)
        self._pressure.record_cycle(self._cycle)

        drift = self._drift
        self._on_faces(drift, "project", pressure=self._pressure.pressure, solid=solid, out_faces=faces)
        self._on_faces(drift, "slip", solid=solid, out_faces=faces)
        self._on_cells(drift, "centre", faces=faces, out_numbers=self._velocity)
        reading = {"faces": faces, "matter": matter, "solid": solid}
        drifting = {"tracers": self._tracers, "out_numbers": self._color, **reading}
        self._add(drift, "drift", self._params.tracers, drifting)

    def _on_cells(self, plan: Plan, entry: str, **tensors: Tensor) -> None:
        over = tuple(name for name in tensors if name.startswith("out_"))
        self._add(plan, entry, math.prod(self._size), tensors, over)

    def _on_faces(self, plan: Plan, entry: str, **tensors: Tensor) -> None:
        over = () if entry in ("project", "slip") else ("out_faces",)
        self._add(plan, entry, math.prod(n + 1 for n in self._size), tensors, over)

    def _add(
        self, plan: Plan, entry: str, threads: int, tensors: Mapping[str, Tensor], over: tuple[str, ...] = ()
    ) -> None:
        kernel = Kernel.load(SHADER, entry, {"OBSTACLE": self._obstacle is not None})
        plan.dispatch(kernel, threads, overwrites=over, **tensors)

    def _advance(self) -> None:
        fields = self._fields()
        self._walls.replay(**fields)
        self._carry.replay(**fields)
        for _ in range(self._sweep_pairs()):
            self._spread.replay(**fields)
        self._push.replay(**fields)
        for _ in range(self._params.cycles):
            self._cycle.replay()
        self._drift.replay(**fields)
        self._turn += 1

    def _sweep_pairs(self) -> int:
        """Twice so many sweeps of diffusion are enough for a step: an explicit one may not go too far."""
        return math.ceil(self._params.diffusivity * self.length / self._edge**2 / (2.0 * SPREAD))

    def _fields(self) -> dict[str, Any]:
        p, edge = self._params, self._edge
        x, _, z = self._size
        opened = OPEN[p.sides]
        obstacle = (1, 1, 1) if self._obstacle is None else self._obstacle.shape[::-1]
        return {
            "size": self._size,
            "edge": edge,
            "low": (-0.5 * x * edge, 0.0, -0.5 * z * edge),
            "dt": self.length,
            "open_low": (opened[0], 0, opened[2]),
            "open_high": opened,
            "turn": self._turn,
            "top_speed": MOST_COURANT * edge / self.length,
            "obstacle_place": p.ball,
            "obstacle_radius": p.ball_radius,
            "source_place": self._source(),
            "source_radius": p.source_radius,
            "source_matter": (p.density, p.temperature),
            "jet": p.jet,
            "weight": p.weight,
            "lift": p.lift,
            "confinement": p.confinement,
            "spread": p.diffusivity * self.length / edge**2 / max(2 * self._sweep_pairs(), 1),
            "kept": (math.exp(-p.fading * self.length), math.exp(-p.cooling * self.length)),
            "key": key_of(self._seed),
            "stream": stream_words("tracers"),
            "life": p.life,
            "count": p.tracers,
            "field_size": obstacle,
            **self._hand(),
        }

    def _source(self) -> tuple[float, ...]:
        """Where the source is now: it strays smoothly from one random place to the next."""
        number, part = divmod(self._turn, STRAY)
        share = (part / STRAY) ** 2 * (3.0 - 2.0 * part / STRAY)
        away = self._params.sway * self._params.source_radius
        ends = zip(
            self._params.source, _random_place(self._seed, number), _random_place(self._seed, number + 1), strict=True
        )
        return tuple(at + away * (a + share * (b - a)) for at, a, b in ends)

    def _hand(self) -> dict[str, Any]:
        """What is done to the smoke from outside; a hand that drags takes the air along within a tenth of a second."""
        touch = self._touch
        if touch is None:
            nowhere = (0.0, 0.0, 0.0)
            return {"touch_point": nowhere, "touch_radius": 0.0, "touch_velocity": nowhere, "drag": 0.0, "emit": 0.0}
        drags = touch.gesture is Gesture.DRAG
        share = 1.0 - math.exp(-10.0 * touch.strength * self.length)
        return {
            "touch_point": touch.point,
            "touch_radius": touch.radius,
            "touch_velocity": touch.velocity,
            "drag": share if drags else 0.0,
            "emit": 0.0 if drags else touch.strength,
        }


def cells_of(params: Params) -> Cells:
    """Cells along x, y and z: whole blocks, at least one."""
    y = BLOCK * max(round(params.cells / BLOCK), 1)
    edge = params.height / y
    x, z = (BLOCK * max(round(extent / edge / BLOCK), 1) for extent in (params.width, params.depth))
    return x, y, z


@lru_cache(16)
def _random_place(seed: int, number: int) -> tuple[float, ...]:
    """A place in the cube from -1 to 1: the one of this number."""
    words = stream(3, seed, "source", 4 * number)
    return tuple(float(word) * 2.0**-31 - 1.0 for word in words)
