"""`Cloth`: a woven sheet that stretches, shears, bends, collides and tears."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import numpy as np

from ... import ops
from ...tensor import Tensor
from ..base import Comparison, DiagnosticSpec, Limit, OutputSpec, compare
from ..energy import ENERGY_DIAGNOSTICS, ENERGY_LIMITS, ENERGY_SCALARS, ENERGY_STATE, LEAST_GRAVITY, Energy, EnergyModel
from ..interaction import Gesture
from ..kernels import parameters
from ..parts import Parts
from ..reference import cloth as reference
from ..reference.obstacle import FAR, Obstacles
from .cloth_cut import Knife
from .cloth_fabric import Fabric, Substeps
from .cloth_long import divided, reached
from .cloth_params import Params, rows_of
from .cloth_sheet import hung, pattern, woven
from .grid_inputs import OBSTACLE, box_fields, grid_input, obstacle_input
from .rigid_bodies import BODY_DIAGNOSTICS, BODY_STATE, RigidBodies, body_outputs, groups_of

SWEEP = 1.0 / 120.0  # [s] between searches for what is near; a plan is a sweep
AIR = 1.2  # [kg/m³]
GRIP = 6000.0  # [1/s] how fast the drag tool imposes its velocity
UNTORN = 1e9  # a strain that is never reached
SLOW = 0.1  # [m/s] below which velocities are compared by their difference: positions are rounded to 1e-7 m in each h
CONTACT_WORKGROUP = 128  # invocations of a workgroup that adds up what pushes bodies
CRUMPLE = 0.02  # unevenness at the start, in spacings: a perfectly flat sheet has no preferred direction to fold
WAVES = (1.494, 2.730, 5.678)  # wave numbers of gusts along the mean wind [1/m]


class Cloth(EnergyModel):
    """Cloth by XPBD with substeps (Macklin, Müller & Chentanez 2016; Macklin et al. 2019).

    `stretch` is a property of the material and does not depend on the resolution: threads have springs between distant
    vertices as well (see `cloth_long`), which reach 17,000 N/m with the defaults; `solver_strain` is what is missing of
    more. Shear and bending act between neighbors only, and the solver limits them to about ρ l² / h² and ρ l⁴ / h²,
    with the distance l of vertices and the substep h. Self-collision separates vertices by 0.9 spacings, so a finer
    cloth is thinner. Sums have a fixed order: the same seed gives the same bits on one GPU. Without wind no energy is
    added. Obstacles with a density are bodies that the cloth pushes; they rest on the ground and on each other.
    The drag tool moves vertices within its radius; the cut tool parts visible threads under its stroke.
    """

    Params = Params
    inputs: ClassVar[Mapping[str, str]] = {
        "wind": "air velocities [m/s] at cell centers of a grid (nz, ny, nx, 3), f32",
        "obstacle": OBSTACLE,
    }
    gestures = frozenset({Gesture.DRAG, Gesture.CUT})
    saved = (
        "vertices",
        "velocities",
        "normals",
        "springs",
        "long_springs",
        "index",
        "ball",
        *BODY_STATE,
        *ENERGY_STATE,
    )
    scalars = ("phases", *ENERGY_SCALARS)
    limits: ClassVar[Mapping[str, Limit]] = {
        "cfl": Limit(1.0, "vertices move more than half the cloth's thickness in a substep: raise solver_substeps"),
        "solver_strain": Limit(
            0.03, "the solver has not converged and threads stretch: raise solver_substeps, or lower resolution"
        ),
        "missing_stiffness": Limit(
            0.2, "the solver does not reach the stiffness `stretch`: raise solver_substeps, or lower stretch"
        ),
        "max_strain": Limit(
            0.5, "threads are stretched by 50 %: raise solver_substeps or stretch, or lower resolution"
        ),
        **ENERGY_LIMITS,
    }
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "energy": DiagnosticSpec("`kinetic`, `potential` and `elastic` together", "J"),
        "kinetic": DiagnosticSpec("kinetic energy", "J"),
        "potential": DiagnosticSpec("gravitational potential energy", "J"),
        "elastic": DiagnosticSpec("elastic energy of stretch, shear and bending", "J"),
        "momentum": DiagnosticSpec("magnitude of the total momentum", "kg m/s"),
        "max_strain": DiagnosticSpec("largest strain of any thread"),
        "torn": DiagnosticSpec("number of torn edges"),
        "cfl": DiagnosticSpec("distance the fastest vertex moves per substep, relative to half the thickness"),
        "material_strain": DiagnosticSpec(
            "strain of the upper threads under the sheet's weight that follows from its stiffness"
        ),
        "missing_stiffness": DiagnosticSpec("part of `stretch` that the solver does not reach"),
        "solver_strain": DiagnosticSpec(
            "strain in addition to `material_strain`, where the solver is not stiff enough"
        ),
        **BODY_DIAGNOSTICS,
        **ENERGY_DIAGNOSTICS,
    }

    @classmethod
    def without_effect(cls, params: Params, inputs: Collection[str]) -> Mapping[str, str]:
        boxes = {
            f"{name}_{part}": f"the input {name} is not connected"
            for name in ("wind", "obstacle")
            for part in ("center", "size")
            if name not in inputs
        }
        ground = {} if params.floor else {"ground": "floor is off: there is no ground"}
        tearing = {} if params.tearing else {"tear_strain": "tearing is off"}
        return {**boxes, **ground, **tearing}

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        columns, rows = params.resolution, rows_of(params)
        return {
            "position": OutputSpec((rows, columns, 3), "f32", "vertex positions", "vertices", slice(3)),
            "normal": OutputSpec((rows, columns, 3), "f32", "unit vertex normals", "normals", slice(3)),
            "velocity": OutputSpec((rows, columns, 3), "f32", "vertex velocities", "velocities", slice(3)),
            "strain": OutputSpec(
                (rows, columns), "f32", "largest strain of the threads at each vertex", "velocities", 3
            ),
            "pattern": OutputSpec((rows, columns), "f32", "woven pattern, 0 to 1"),
            "ball": OutputSpec((1, 3), "f32", "center of the sphere obstacle", "ball", slice(3)),
            "ball_radius": OutputSpec((1,), "f32", "radius of the sphere obstacle", "ball", 3),
            "index": OutputSpec((2 * (rows - 1) * (columns - 1), 3), "u32", "triangles; torn ones are degenerate"),
            **body_outputs(),
        }

    def step(self, dt: float) -> None:
        if self._interaction is not None and self._interaction.gesture is Gesture.CUT:
            ball = {"center": self._params.sphere_center, "radius": self._params.sphere_radius}
            self._knife.cut(self._interaction, dt, ball)
        values = self._values()
        self._bodies.update()
        due, fabric = self._clock.due(dt, SWEEP), self._fabric
        sweep = fabric.sweep_at_walls if self._bodies.count and not self._bodies.movable else fabric.sweep
        for k in range(due):
            values["obstacle_lag"] = dt * (due - 1 - k) / due
            values["phases"] = tuple(self._phases)
            sweep.replay(**values)
            speed = math.hypot(*self._params.wind)
            self._phases = [
                math.fmod(p + q * speed * SWEEP, 2.0 * math.pi) for p, q in zip(self._phases, WAVES, strict=True)
            ]
        self._bodies.show()
        self._judge_energy()

    def diagnostics(self) -> dict[str, Tensor]:
        fabric = self._fabric
        kinetic, potential, elastic = self._energies()
        energy, fastest = kinetic + potential + elastic, ops.max(fabric.tallies[:, 3])
        return {
            "energy": energy,
            **{"kinetic": kinetic, "potential": potential, "elastic": elastic},
            "momentum": ops.l2(ops.sum(fabric.impulses[:, 0:3], axis=0)),
            "max_strain": ops.max(self._views["strain"]),
            "torn": ops.sum((fabric.springs[:, 0] < 0.0).to("u32")),
            "cfl": fastest * (2.0 * self._substeps.h / fabric.thickness),
            **{name: Tensor.full(1, strain) for name, strain in self._hanging_strains().items()},
            **self._bodies.diagnostics(),
            **self._energy_gain(self._scaled(energy)),
        }

    def compare_with_reference(self) -> list[Comparison]:
        """One sweep of the whole sheet, in float64, from the state that it is in; without interaction.

        Where there are bodies, a small step, with velocities of the bodies as the cloth meets them.
        """
        fabric, sheet = self._fabric, self._sheet
        state = self.reference_state()
        interaction, self._interaction = self._interaction, None
        values = self._values()
        self._interaction = interaction
        values["phases"] = tuple(self._phases)
        (fabric.meeting if self._bodies.count else fabric.sweep).replay(**values)
        boxes = self._box(self._wind, "wind"), self._box(self._obstacle, "obstacle")
        fields = {**values, "h": self._substeps.h, "thickness": fabric.thickness, "reach": fabric.reach}
        fields["collides"] = self._params.self_collision
        steps = 1 if self._bodies.count else self._substeps.steps
        reference.sweep(state, sheet, fabric.long, fields, steps, *boxes)
        ours = self.reference_state()
        differences, speeds = np.linalg.norm(ours.velocities - state.velocities), np.linalg.norm(state.velocities)
        error = float(differences / max(speeds, SLOW * math.sqrt(sheet.count)))
        return [
            compare("position", ours.positions, state.positions, 1e-5),
            Comparison("velocity", error if math.isfinite(error) else math.inf, 1e-2),
            compare("normal", ours.normals, state.normals, 1e-3),
        ]

    def reference_state(self) -> reference.State:
        """The state as the reference takes it. Waits for the GPU."""
        fabric, n = self._fabric, self._sheet.count
        vertices, velocities = (t.numpy().astype(float).reshape(n, 4) for t in (fabric.vertices, fabric.velocities))
        normals, springs = fabric.normals.numpy().astype(float), fabric.springs.numpy().astype(float)
        distant = fabric.long_springs.numpy().astype(float)[: len(fabric.long.edges)]
        return reference.State(
            vertices[:, :3], velocities[:, :3], normals.reshape(n, 4)[:, :3], vertices[:, 3], springs, distant
        )

    def reset(self) -> None:
        self._clock.remainder, self._phases = 0.0, [0.0, 0.0, 0.0]
        self._fabric.start()
        self._bodies.reset()
        self._fabric.dress.replay(**self._surface_fields() | {"limit": UNTORN})
        self._forget_energy()

    def _energies(self) -> tuple[Tensor, Tensor, Tensor]:
        """Kinetic, potential and elastic."""
        fabric = self._fabric
        fabric.measure.replay(**self._surface_fields())
        sums = ops.sum(fabric.tallies, axis=0)
        elastic = sums[2] + ops.sum(fabric.bending) + ops.sum(fabric.pulling)
        return sums[0].contiguous(), sums[1].contiguous(), elastic

    def _scaled(self, energy: Tensor) -> Energy:
        p = self._params
        weight = p.density * p.width * p.length * max(p.gravity, LEAST_GRAVITY)
        of_cloth = Energy(energy, Tensor.full(1, weight * p.length))
        return self._bodies.add_energy(of_cloth, p.gravity, p.length)

    def _mechanical_energy(self) -> Energy:
        kinetic, potential, elastic = self._energies()
        return self._scaled(kinetic + potential + elastic)

    def _adds_energy(self) -> bool:
        return any(self._params.wind) or self._wind is not None

    def _create(self, parts: Parts) -> None:
        params, self._phases = self._params, [0.0, 0.0, 0.0]
        self._sheet = woven(rows_of(params), params.resolution, params.width, params.length)
        self._substeps = Substeps(params.solver_substeps, SWEEP / params.solver_substeps)
        positions, pinned = hung(self._sheet, params.pins, params.span)
        noise = np.random.default_rng(self._seed).standard_normal(len(positions)) * CRUMPLE * self._sheet.spacing
        across = np.array([0.0, 1.0, 0.0] if params.pins in ("none", "ends") else [0.0, 0.0, 1.0])
        positions = positions + np.array(params.center) + np.where(pinned, 0.0, noise)[:, None] * across
        self._wind = grid_input(parts, self._inputs, "wind", "nz", "ny", "nx", "3")
        self._obstacle, kind = obstacle_input(parts, self._inputs)
        placed, groups = self._obstacle if kind == "placed" else None, groups_of(self._sheet.count, CONTACT_WORKGROUP)
        self._bodies = RigidBodies(parts, placed, self.name, groups, dt=self._substeps.h, obstacle_pace=1.0)
        met = self._wind, self._obstacle, kind, self._bodies
        self._fabric = Fabric(parts, self._sheet, positions, pinned, self._substeps, *met, params.self_collision)
        self._knife = Knife(parts, self._sheet, self._tensors | {"triangles": self._fabric.index})
        self._create_energy(parts, self._obstacle, kind)
        parts.copied("pattern", pattern(self._sheet, params.pattern))

    def _hanging_strains(self) -> dict[str, float]:
        """Of the upper threads: by their weight over their stiffness, and because the solver does not reach all."""
        p, weight = self._params, self._params.density * self._params.gravity * self._params.length
        hangs = float(p.pins != "none")
        missing = max(1.0 - reached(p.stretch, *self._threads(), self._sheet.rows) / p.stretch, 0.0)
        material = weight / p.stretch * hangs
        solver = material * missing / (1.0 - missing)
        return {"material_strain": material, "missing_stiffness": missing, "solver_strain": solver}

    def _divided(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        return divided(self._params.stretch, *self._threads())

    def _threads(self) -> tuple[float, float, float, tuple[int, ...]]:
        return self._params.density, self._sheet.spacing, self._substeps.h, self._fabric.long.spans

    def _values(self) -> dict[str, Any]:
        p, tool = self._params, self._tool(Gesture.DRAG)
        ground = p.ground if p.floor else -FAR
        box = {"low": (-FAR, ground, -FAR), "high": (FAR, FAR, FAR)} if self._bodies.count else {}
        return {
            **self._surface_fields(),
            "stiffness": self._divided()[1],
            **{
                "damping": p.damping,
                "drag": 0.5 * AIR * p.drag,
                "friction": p.friction,
                "gap": 0.5 * self._fabric.thickness,
            },
            **{"ground": ground, "wind": p.wind, "gust": p.gust, **box},
            **box_fields("wind", self._wind, p.wind_center, p.wind_size),
            "obstacle_lag": 0.0,
            **box_fields("obstacle", self._obstacle, p.obstacle_center, p.obstacle_size),
            **{"tool_rate": GRIP * tool.strength, "tool_point": tool.point},
            **{"tool_radius": max(tool.radius, 1e-6), "tool_velocity": tool.velocity},
        }

    def _surface_fields(self) -> dict[str, Any]:
        p = self._params
        named = parameters(p, "density", "shear", "bend", "gravity")
        named |= {"center": p.sphere_center, "radius": p.sphere_radius, "stretch": self._divided()[0]}
        return named | {"limit": p.tear_strain if p.tearing else UNTORN}

    def _box(self, grid: Tensor | None, name: str) -> Any:
        if grid is None:
            return None
        if grid.ndim == 1:
            return Obstacles.of(self._bodies.tensor.numpy())
        p = self._params
        fields = box_fields(name, grid, getattr(p, f"{name}_center"), getattr(p, f"{name}_size"))
        low, scale = np.array(fields[f"{name}_low"]), np.array(fields[f"{name}_scale"])
        return reference.Box(grid.numpy().astype(float), low, scale, 0.5 if name == "wind" else 0.0)
