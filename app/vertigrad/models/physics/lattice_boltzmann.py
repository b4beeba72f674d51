"""`LatticeBoltzmann`: flow in a plane, past an obstacle that can be drawn with the mouse."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, ClassVar

import numpy as np

from ... import ops, params
from ...errors import InputError
from ...gpu import Kernel, Plan
from ...ops.grid import record_grid_normals
from ...ops.launch import element_strides
from ...params import angle, choice, integer, number, text
from ...tensor import Tensor, f32
from ..base import Comparison, Limit, Model, OutputSpec, compare
from ..stepping import FixedStep
from ..touch import Gesture, Touch
from . import lattice_boltzmann_twin as twin

SHADER = "models/lattice_boltzmann.wgsl"
BUNDLE = 8  # pairs of steps that are replayed at once where so many are due
MAGIC = 3.0 / 16.0  # puts walls exactly half a cell beyond the last one (Ginzburg & d'Humières 2003)
# [cells²/step] over the speed: what keeps a lattice stable that is too coarse for the flow.
LEAST_VISCOSITY = {"regularised": 0.02, "trt": 0.15}
SPONGE = 0.12  # of the columns, before the outlet
LONGER_SIDE = 3.0  # in the scene


class Params(params.Params):
    """Lengths are cells and times steps, but for what is drawn; velocities are drawn over that of the inflow."""

    columns: int = integer(400, min=4, max=8192, scale="log", rebuild=True, doc="cells along the flow")
    rows: int = integer(144, min=2, max=4096, scale="log", rebuild=True, doc="cells across it: the lattice's width")
    reynolds: float = number(
        150.0,
        min=0.01,
        max=1e5,
        soft_min=1.0,
        soft_max=1000.0,
        scale="log",
        doc="speed times the obstacle's size, or without one the channel's width, over the viscosity",
    )
    speed: float = number(
        0.08, min=0.001, max=0.12, soft_min=0.02, unit="cells/step", doc="of the inflow; a third of sound's is too much"
    )
    rate: float = number(900.0, min=0.0, max=1e5, soft_max=4000.0, unit="steps/s", doc="steps in a second")
    ends: str = choice(
        "open", ("open", "repeat"), rebuild=True, doc="inflow and outflow, or a channel without ends and a force"
    )
    sides: str = choice("slip", ("slip", "no slip", "repeat"), rebuild=True, doc="what is above and below")
    collision: str = choice(
        "regularised",
        ("regularised", "trt"),
        rebuild=True,
        doc="regularised: the most stable; trt: two relaxation times, walls exactly where they should be",
    )
    obstacle: str = choice("circle", ("circle", "square", "aerofoil", "none"), rebuild=True, doc="what is in the way")
    size: float = number(
        0.125, min=0.01, max=0.8, soft_max=0.4, doc="of the obstacle, its diameter, side or chord, over the width"
    )
    x: float = number(0.22, min=0.0, max=1.0, doc="where its middle is, over the length")
    y: float = number(0.5, min=0.0, max=1.0, doc="where its middle is, over the width")
    attack: float = angle(0.0, min=-90.0, max=90.0, doc="how far it is turned nose up")
    section: str = text("2412", doc="the aerofoil's four digits, as NACA has them")
    height: float = number(
        0.01, min=-1.0, max=1.0, soft_min=-0.05, soft_max=0.05, doc="how much vorticity raises the surface"
    )
    pedestal: float = number(0.12, min=0.0, max=2.0, soft_max=0.5, doc="how high the obstacle is drawn")


class LatticeBoltzmann(Model):
    """Nine populations a cell, D2Q9 (Krüger et al. 2017, The Lattice Boltzmann Method), streaming and colliding.

    Collisions are regularised with the third moments (Malaspinas 2015) or have two relaxation times (Ginzburg et al.
    2008). Walls of circle, square and aerofoil are where they are, between the cells (Bouzidi et al. 2001); those
    painted and those of a mask lie half-way, as do the channel's. The inflow gives way where it is blocked; the fluid
    leaves at density 1, through a stretch that smooths it. Mass stays where ends repeat and walls lie half-way.

    The viscosity is never less than the lattice bears: `coarseness` says how many times too large it then is. Steps are
    taken in pairs. A hand paints walls and cuts them away. The same seed gives the same bits on one adapter.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "mask": "an obstacle (rows, columns) f32, wall where above 1/2, stretched over the lattice; replaces the other"
    }
    gestures = frozenset({Gesture.PAINT, Gesture.CUT})
    limits: ClassVar[Mapping[str, Limit]] = {
        "mach": Limit(0.45, "the flow is compressed: lower speed, or give it more room"),
        "coarseness": Limit(1.001, "the lattice is too coarse for this reynolds: more rows, or a lower reynolds"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        grid = (params.rows, params.columns)
        return {
            "velocity": OutputSpec((*grid, 2), "f32", "along columns and rows, over that of the inflow"),
            "speed": OutputSpec(grid, "f32", "length of the velocity"),
            "density": OutputSpec(grid, "f32", "1 where nothing moves"),
            "vorticity": OutputSpec(grid, "f32", "times the obstacle's size, over the inflow's velocity"),
            "position": OutputSpec((*grid, 3), "f32", "a surface, raised by vorticity, y up"),
            "normal": OutputSpec((*grid, 3), "f32", "its unit normals"),
            "obstacle": OutputSpec((*grid, 3), "f32", "a surface that stands above the other where the wall is"),
            "obstacle_normal": OutputSpec((*grid, 3), "f32", "its unit normals"),
            "distance": OutputSpec(grid, "f32", "to the obstacle [cells], negative inside; about right near it"),
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params = name, params
        self._pairs, self._touch = FixedStep(most=512), None
        _section(params.section)
        with ExitStack() as stack:  # closes what was made if something that follows cannot be
            self._mask = stack.enter_context(_plane(inputs["mask"])) if "mask" in inputs else None
            self._make(stack)
            self._record(stack)
            self.reset()
            self._held = stack.pop_all()

    def step(self, dt: float) -> None:
        pairs = self._pairs.due(dt * self._params.rate, 2.0)
        values = self._values()
        if self._touch is not None:
            self._paint.replay(**values | self._stroke(self._touch, dt))
        self._obstruct.replay(**values)
        for _ in range(pairs // BUNDLE):
            self._many.replay(**values)
        for _ in range(pairs % BUNDLE):
            self._pair.replay(**values)
        self._show.replay(**values)

    def touch(self, touch: Touch | None) -> None:
        self._touch = touch

    def outputs(self) -> dict[str, Tensor]:
        return self._views

    def diagnostics(self) -> dict[str, Tensor]:
        """`mass`, the mean density of all cells; `mach`, of the fastest; `reynolds` as it is; and `coarseness`."""
        inflow, values = self._params.speed, self._values()
        real = inflow * values["length"] / values["viscosity"]
        wanted = self._params.reynolds / real
        fastest = ops.max(self._moments[:, 2])
        return {
            "mass": ops.mean(self._moments[:, 3]),
            "mach": fastest * (inflow * math.sqrt(3.0)),
            "reynolds": Tensor.from_numpy(np.array([real], np.float32), f"{self.name}.reynolds"),
            "coarseness": Tensor.from_numpy(np.array([wanted], np.float32), f"{self.name}.coarseness"),
        }

    def compare_with_twin(self) -> list[Comparison]:
        """Two steps of every population, and the moments and the vorticity that they have then, in float64."""
        values, given = self._values(), self._params
        self._obstruct.replay(**values)
        rows, columns = given.rows, given.columns
        before = self._now.numpy().astype(float).reshape(9, rows, columns)
        distance = self._distance.numpy().astype(float)
        self._pair.replay(**values)
        self._show.replay(**values)
        after = before
        for _ in range(2):
            after = twin.step(after, distance, values, given.collision, given.ends, given.sides)
        velocity, density = twin.moments(after, distance, values)
        vorticity = twin.vorticity(velocity, distance) * values["length"]
        moments = self._moments.numpy().reshape(rows, columns, 4)
        return [
            compare("populations", self._now.numpy().reshape(after.shape), after, 1e-5),
            compare("velocity", moments[..., :2], velocity, 1e-5),
            compare("density", moments[..., 3], density, 1e-6),
            compare("vorticity", self._vorticity.numpy(), vorticity, 1e-4),
        ]

    def reset(self) -> None:
        self._pairs.rest = 0.0
        ops.assign(self._painted, 0.0)
        values = self._values()
        self._obstruct.replay(**values)
        self._begin.replay(**values)
        self._show.replay(**values)

    def state(self) -> dict[str, Tensor]:
        return {
            "populations": self._now,
            "painted": self._painted,
            "distance": self._distance,
            "moments": self._moments,
            "vorticity": self._vorticity,
            "position": self._position,
            "normal": self._normal,
            "obstacle": self._obstacle,
            "obstacle_normal": self._obstacle_normal,
        }

    def numbers(self) -> dict[str, float]:
        return {"rest": self._pairs.rest}

    def resume(self, numbers: Mapping[str, float]) -> None:
        self._pairs.rest = numbers["rest"]

    def reread(self, name: str) -> bool:
        return False

    def close(self) -> None:
        self._held.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _make(self, stack: ExitStack) -> None:
        rows, columns = self._params.rows, self._params.columns

        def empty(what: str, *shape: int) -> Tensor:
            return stack.enter_context(Tensor.empty(shape, name=f"{self.name}.{what}"))

        self._now = empty("populations", 9, rows * columns)
        self._next = empty("next", 9, rows * columns)
        self._distance = empty("distance", rows, columns)
        self._painted = empty("painted", rows, columns)
        self._moments = empty("moments", rows * columns, 4)
        self._vorticity = empty("vorticity", rows, columns)
        self._position = empty("position", rows, columns, 3)
        self._normal = empty("normal", rows, columns, 3)
        self._obstacle = empty("obstacle", rows, columns, 3)
        self._obstacle_normal = empty("obstacle_normal", rows, columns, 3)
        moments = self._moments.reshape(rows, columns, 4)
        self._views = {
            "velocity": moments[..., :2],
            "speed": moments[..., 2],
            "density": moments[..., 3],
            "vorticity": self._vorticity[:],
            "position": self._position[:],
            "normal": self._normal[:],
            "obstacle": self._obstacle[:],
            "obstacle_normal": self._obstacle_normal[:],
            "distance": self._distance[:],
        }
        stack.callback(lambda: [view.close() for view in (moments, *self._views.values())])

    def _record(self, stack: ExitStack) -> None:
        names = ("pair", "many", "paint", "obstruct", "begin", "show")
        plans = {name: stack.enter_context(Plan(f"{self.name}.{name}")) for name in names}
        self._pair, self._many, self._paint = plans["pair"], plans["many"], plans["paint"]
        self._obstruct, self._begin, self._show = plans["obstruct"], plans["begin"], plans["show"]
        given, cells = self._params, self._params.rows * self._params.columns
        defines = {
            "COLLISION": given.collision,
            "ENDS": given.ends,
            "SIDES": given.sides,
            "SHAPE": given.obstacle if self._mask is None else "mask",
        }
        mask: dict[str, Any] = {}
        if self._mask is not None:
            mask = {"mask_shape": self._mask.shape, "mask_strides": element_strides(self._mask)}

        def add(plan: Plan, entry: str, *overwrites: str, **tensors: Any) -> None:
            kernel = Kernel.load(SHADER, entry, defines)
            unread = {} if entry == "obstruct" or not mask else {"mask_offset": 0}
            plan.dispatch(kernel, cells, overwrites=overwrites, **tensors, **mask, **unread)

        walls, turns = self._distance, [(self._now, self._next), (self._next, self._now)]
        for plan, pairs in ((self._pair, 1), (self._many, BUNDLE)):
            for before, after in turns * pairs:
                add(plan, "stream", "after", before=before, after=after, distance=walls)
        add(self._paint, "paint", painted=self._painted)
        seen = {} if self._mask is None else {"mask": self._mask}
        add(self._obstruct, "obstruct", "found", found=walls, painted=self._painted, **seen)
        add(self._begin, "begin", "after", after=self._now, distance=walls)
        add(self._show, "moments", "moment", before=self._now, moment=self._moments, distance=walls)
        drawn = {"vorticity": self._vorticity, "position": self._position, "obstacle": self._obstacle}
        add(self._show, "show", *drawn, moved=self._moments, distance=walls, **drawn)
        record_grid_normals(self._show, self._position, self._normal)
        record_grid_normals(self._show, self._obstacle, self._obstacle_normal)

    def _values(self) -> dict[str, Any]:
        """What every kernel is told, in cells and steps."""
        given = self._params
        across = given.obstacle == "none" and self._mask is None
        length = float(given.rows) if across else given.size * given.rows
        viscosity = max(given.speed * length / given.reynolds, LEAST_VISCOSITY[given.collision] * given.speed)
        driven = given.ends == "repeat"
        camber, camber_at, thickness = _section(given.section)
        turned = math.radians(given.attack)
        return {
            "rows": given.rows,
            "columns": given.columns,
            "inflow": given.speed,
            "viscosity": viscosity,
            "odd_rate": 1.0 / (MAGIC / (3.0 * viscosity) + 0.5),
            "force": 8.0 * viscosity * given.speed / given.rows**2 if driven else 0.0,
            "sponge": 0.0 if driven else SPONGE * given.columns,
            "start": 0.0 if driven else given.speed,
            "place": (given.x * given.columns - 0.5, given.y * given.rows - 0.5),
            "turn": (math.cos(turned), math.sin(turned)),
            "size": given.size * given.rows,
            "thickness": thickness,
            "camber": camber,
            "camber_at": camber_at,
            "edge": LONGER_SIDE / max(given.rows, given.columns),
            "height": given.height,
            "pedestal": given.pedestal,
            "length": length,
            **_NO_HAND,
        }

    def _stroke(self, touch: Touch, dt: float) -> dict[str, Any]:
        """What the hand passes over in `dt`, in cells."""
        given, edge = self._params, LONGER_SIDE / max(self._params.rows, self._params.columns)
        middle = np.array([given.columns - 1, given.rows - 1]) / 2.0
        to = np.array([touch.point[0], touch.point[2]])
        way = np.array([touch.velocity[0], touch.velocity[2]]) * dt
        return {
            "hand_from": tuple((to - way) / edge + middle),
            "hand_to": tuple(to / edge + middle),
            "hand_radius": max(touch.radius / edge, 0.75),
            "painted_as": 1.0 if touch.gesture is Gesture.PAINT else 0.0,
        }


_NO_HAND = {"hand_from": (0.0, 0.0), "hand_to": (0.0, 0.0), "hand_radius": 0.0, "painted_as": 0.0}


def _section(digits: str) -> tuple[float, float, float]:
    """Camber, where it is largest, and thickness, over the chord. Raises `InputError` if there is no such section."""
    if not re.fullmatch(r"\d{4}", digits) or digits[2:] == "00" or (digits[0] == "0") != (digits[1] == "0"):
        raise InputError(
            f'section {digits!r} is none of NACA\'s four digits, such as "2412": camber in hundredths of the chord, '
            "its place in tenths, thickness in hundredths; without camber the first two are 00"
        )
    return int(digits[0]) / 100.0, max(int(digits[1]), 1) / 10.0, int(digits[2:]) / 100.0


def _plane(mask: Tensor) -> Tensor:
    """A view of it. Raises `InputError` if it is no plane."""
    if mask.ndim != 2 or not mask.size or mask.dtype is not f32:
        raise InputError(f"mask is {mask.dtype} of shape {mask.shape}; it must be f32, (rows, columns)")
    return mask[:]
