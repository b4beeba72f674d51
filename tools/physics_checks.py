"""Measure the physics of the models against theory, at defaults and at the ends of ranges: docs/physics-checks.md.

    python tools/physics_checks.py [--only cloth nbody] [--rows 16 32 64] [--bodies 1024] [--write]

`--rows` are resolutions of the hanging sheet, `--bodies` the number of bodies of n-body. Each row prints what is
expected, what was measured, and which limits of the model were exceeded; with `--write` it goes into
the page. No window, GUI library or video library is needed. Times are of a frame of 1/60 s, with what is measured left
out.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import vertigrad
from vertigrad.models import Model, registry
from vertigrad.models.stepping import no_dropped_time

PAGE = Path(__file__).parents[1] / "docs" / "physics-checks.md"
STEP = 1.0 / 60.0
BEGIN, END = "<!-- measured -->", "<!-- end -->"


class Check(NamedTuple):
    """One measurement; `holds` is whether it is as close to what is expected as it should be."""

    what: str
    setting: str
    expected: str
    measured: str
    holds: bool
    flagged: list[str]  # limits that are exceeded
    milliseconds: float  # of a frame

    def row(self) -> str:
        """As a row of the table."""
        judged = "yes" if self.holds else ("flagged" if self.flagged else "**no**")
        flagged = ", ".join(f"`{name}`" for name in self.flagged) or "–"
        cells = [self.what, self.setting, self.expected, self.measured, judged, flagged, f"{self.milliseconds:.3g}"]
        return f"| {' | '.join(cells)} |"


class Run:
    """A model with some parameters, and the time of its frames."""

    def __init__(self, kind: str, **values: Any):
        types = registry.types()[kind]
        self.model: Model = types("model", types.Params.parse(values), {}, 7)
        self.frames, self.seconds = 0, 0.0
        self.exceeded: set[str] = set()

    def close(self) -> None:
        """Free the model."""
        self.model.close()

    def advance(self, seconds: float) -> None:
        """Take the frames of so many seconds, without dropping time."""
        gpu, begun, frames = vertigrad.gpu(), time.perf_counter(), max(1, round(seconds / STEP))
        with no_dropped_time():
            for _ in range(frames):
                self.model.step(STEP)
        gpu.sync()
        self.seconds += time.perf_counter() - begun
        self.frames += frames
        found = self.diagnostics()
        self.exceeded |= {name for name, limit in self.model.limits.items() if not found[name] <= limit.bound}

    def diagnostics(self) -> dict[str, float]:
        """The diagnostics now."""
        return {name: tensor.numpy().item() for name, tensor in self.model.diagnostics().items()}

    def output(self, name: str) -> np.ndarray:
        """An output in float64."""
        return self.model.outputs()[name].numpy().astype(float)

    def check(self, what: str, setting: str, expected: str, measured: str, holds: bool) -> Check:
        """What was found after the frames so far."""
        milliseconds = 1e3 * self.seconds / max(self.frames, 1)
        return Check(what, setting, expected, measured, holds, sorted(self.exceeded), milliseconds)


def cloth(options: argparse.Namespace) -> Iterator[Check]:
    """A sheet without shear stiffness that hangs from its upper edge gets longer by ρ g L² / 2 K."""
    quiet = {"pins": "edge", "shear": 0.0, "drag": 0.0, "damping": 4.0, "self_collision": False}
    cases: list[tuple[str, dict[str, Any]]] = [
        (f"resolution {rows}{', default' if rows == 64 else ''}", {"resolution": rows}) for rows in options.rows
    ]
    small = min(options.rows)
    for values in (
        {"stretch": 100.0},
        {"stretch": 1e6},
        {"density": 0.02},
        {"density": 5.0},
        {"gravity": 100.0},
        {"solver_substeps": 1},
    ):
        name, value = next(iter(values.items()))
        cases.append((f"resolution {small}, {name} = {value:g}", {"resolution": small, **values}))
    for setting, values in cases:
        with closing(Run("cloth", **quiet, **values)) as run:
            run.advance(2.0)
            params: Any = run.model._params  # type: ignore[attr-defined]
            theory = params.density * params.gravity * params.length / (2.0 * params.stretch)
            position = run.output("position")[..., 1]
            strain = ((position[0] - position[-1]) / params.length - 1.0).mean()
            close = abs(strain / theory - 1.0) < 0.2
            yield run.check("cloth: strain", setting, f"{theory:.3%}", f"{strain:.3%}, × {strain / theory:.2f}", close)


def nbody(options: argparse.Namespace) -> Iterator[Check]:
    """Energy of two colliding galaxies, largest change within 10 s."""
    for kind in ("nbody", "nbody_barnes_hut"):
        for values, seconds in (
            ({}, 10.0),
            ({"softening": 1.0}, 10.0),
            ({"softening": 0.03}, 10.0),
            ({"softening": 1e-4}, 0.5),
            ({"time_scale": 100.0}, 0.5),
        ):
            with closing(Run(kind, count=options.bodies, **values)) as run:
                drifts = []
                for _ in range(10):
                    run.advance(seconds / 10.0)
                    drifts.append(run.diagnostics()["energy_drift"])
                setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "defaults"
                setting = f"{options.bodies:,} bodies, {setting}, {seconds:g} s"
                holds = max(drifts) < 1e-3
                yield run.check(f"{kind}: energy", setting, "< 0.001", f"{max(drifts):.1e}", holds)


def water(options: argparse.Namespace) -> Iterator[Check]:
    """A lake at rest, the volume of moving water, and the pressure of still fluid."""
    with closing(Run("shallow_water", rows=48, columns=64, ground="hills", level=2.0, level_2=2.0)) as run:
        before = run.diagnostics()["volume"]
        run.advance(2.0)
        found = run.diagnostics()
        speed = f"{found['fastest']:.1e} m/s"
        yield run.check("shallow_water: lake", "hills, 2 s", "0 m/s", speed, found["fastest"] < 1e-4)
    for values in ({}, {"dry": 1.0}, {"time_scale": 100.0}):
        with closing(Run("shallow_water", rows=48, columns=64, ground="hills", **values)) as run:
            before = run.diagnostics()["volume"]
            run.advance(2.0)
            change = run.diagnostics()["volume"] / before - 1.0
            setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "defaults"
            yield run.check("shallow_water: volume", f"hills, {setting}", "0", f"{change:.1e}", abs(change) < 1e-4)
    tank = {"spacing": 0.06, "tank": (0.36, 0.6, 0.36), "column": (0.36, 0.42, 0.36)}
    for viscosity, artificial, seconds in ((0.0, 0.01, 4.0), (0.1, 0.01, 4.0), (0.0, 0.005, 8.0), (0.0, 0.0, 8.0)):
        with closing(Run("fluid", **tank, viscosity=viscosity, artificial_viscosity=artificial)) as run:
            run.advance(seconds)
            height, pressure = run.output("position")[:, 1], run.output("pressure")
            within = (height > 0.06) & (height < height.max() - 0.09)
            slope = -np.polyfit(height[within], pressure[within], 1)[0]
            found = run.diagnostics()
            speed = math.sqrt(2.0 * found["kinetic"] / found["mass"]) / math.sqrt(9.81 * height.max())
            setting = f"0.42 m of water, viscosity = {viscosity:g}, artificial {artificial:g}, {seconds:g} s"
            holds = abs(slope / 9810.0 - 1.0) < 0.03
            yield run.check("fluid: dp/dy", setting, "9,810 Pa/m", f"{slope:,.0f}", holds)
            yield run.check("fluid: speed at rest", setting, "< 1 % of √(g H)", f"{speed:.2%}", speed < 0.01)


def energy(options: argparse.Namespace) -> Iterator[Check]:
    """What falls, flows and hangs gains no energy that nothing adds."""
    few = {"iterations": 1, "courant": 1.0, "artificial_viscosity": 0.0}
    for kind, size, values in (
        ("cloth", {"resolution": 24}, {}),
        ("cloth", {"resolution": 24}, {"solver_substeps": 1}),
        ("fluid", {"spacing": 0.1}, {}),
        ("fluid", {"spacing": 0.1}, few),
        ("mpm", {"count": 2000, "resolution": 20}, {}),
        ("shallow_water", {"rows": 48, "columns": 64, "ground": "hills"}, {}),
    ):
        with closing(Run(kind, **size, **values)) as run:
            gains = []
            for _ in range(12):
                run.advance(0.25)
                gains.append(run.diagnostics()["energy_gain"])
            setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "defaults"
            holds = max(gains) <= run.model.limits["energy_gain"].bound
            yield run.check(f"{kind}: energy", f"{setting}, 3 s", "gain < 2 %", f"{max(gains):.2%}", holds)


def matter(options: argparse.Namespace) -> Iterator[Check]:
    """What falls gains no energy, and the grid has the mass of the particles."""
    for values in ({}, {"jelly_youngs_modulus": 1e7}, {"gravity": 100.0}):
        with closing(Run("mpm", count=2000, resolution=20, **values)) as run:
            before = run.diagnostics()["energy"]
            run.advance(0.5)
            found = run.diagnostics()
            setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "2,000 particles"
            change = found["energy"] / before - 1.0
            yield run.check("mpm: energy", f"{setting}, 0.5 s", "no gain", f"{change:+.1%}", change < 1e-3)
            error = found["grid_mass"] / found["mass"] - 1.0
            yield run.check("mpm: mass on the grid", setting, "0", f"{error:.1e}", abs(error) < 1e-5)


def air(options: argparse.Namespace) -> Iterator[Check]:
    """Smoke: divergence; lattice Boltzmann: Mach number and mass."""
    for values in ({}, {"buoyancy": 10.0}):
        with closing(Run("smoke", cells=32, tracers=64, **values)) as run:
            run.advance(1.0)
            divergence, bound = run.diagnostics()["divergence"], run.model.limits["divergence"].bound
            setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "32 cells"
            yield run.check(
                "smoke: divergence", setting, f"< {bound:g} a step", f"{divergence:.1e}", divergence < bound
            )
    for values in ({}, {"size": 0.6}, {"size": 0.8}):
        with closing(Run("lattice_boltzmann", rows=48, columns=96, **values)) as run:
            run.advance(2.0)
            mach = run.diagnostics()["mach"]
            setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "defaults"
            yield run.check("lattice_boltzmann: Mach number", setting, "< 0.45", f"{mach:.2f}", mach < 0.45)


def reaction(options: argparse.Namespace) -> Iterator[Check]:
    """Gray-Scott: concentrations stay finite where diffusion is fast, and u between 0 and 1."""
    for values in ({}, {"diffusion_u": 2e-4}, {"diffusion_u": 1e-3}):
        with closing(Run("gray_scott", resolution=64, **values)) as run:
            run.advance(1.5)
            u = run.output("u")
            setting = ", ".join(f"{name} = {value:g}" for name, value in values.items()) or "defaults"
            holds = bool(np.isfinite(u).all() and u.min() > -1e-3 and u.max() < 1.001)
            yield run.check("gray_scott: u", setting, "0 … 1", f"{u.min():.3f} … {u.max():.3f}", holds)


CHECKS: dict[str, Callable[[argparse.Namespace], Iterator[Check]]] = {
    "cloth": cloth,
    "nbody": nbody,
    "water": water,
    "energy": energy,
    "matter": matter,
    "air": air,
    "reaction": reaction,
}


def main() -> int:
    """Print the table; the exit code is 1 if something neither holds nor is flagged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", choices=CHECKS, default=list(CHECKS))
    parser.add_argument("--rows", nargs="*", type=int, default=[16, 32, 64])
    parser.add_argument("--bodies", type=int, default=1024)
    parser.add_argument("--write", action="store_true", help="replace the table of the page")
    options = parser.parse_args()
    name = vertigrad.gpu().adapter.name
    lines = [
        f"Measured on {name}.",
        "",
        "| what | setting | expected | measured | holds | limits exceeded | ms a frame |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    failed = False
    for part in options.only:
        for check in CHECKS[part](options):
            lines.append(check.row())
            failed = failed or not (check.holds or check.flagged)
            print(check.row(), flush=True)
    if options.write:
        page = PAGE.read_text(encoding="utf-8")
        head, tail = page[: page.index(BEGIN)], page[page.index(END) :]
        PAGE.write_text(f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n{tail}", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
