"""What the plots of the Watch panel show: a script's values, the models' diagnostics, watched tensors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..models.base import Limit
from ..session import Session
from ..session.diagnostics import limits
from ..session.script import PlotData
from ..session.statistics import TimeSeries
from ..session.watches import Watch
from . import plots
from .tables import diagnostic_label, number

POINTS = 400  # of a line


class Curve(NamedTuple):
    """A line of a plot: its name in the legend, and its points, float64."""

    name: str
    x: np.ndarray
    y: np.ndarray


class Cell(NamedTuple):
    """A plot: its heading, its lines, its limits, and its watch, if any."""

    key: str
    name: str
    value: str
    bad: bool
    curves: tuple[Curve, ...]
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    watch: Watch | None
    note: str
    bound: float | None = None  # of a diagnostic whose model names a limit
    units: tuple[str, str] = ("s", "")
    log: bool = False  # whether y is logarithmic


def cells(session: Session) -> list[Cell]:
    """A plot for each of the script's, then for each of the diagnostics, then for each watch."""
    found, bounds = [_of_script(name, plot) for name, plot in session.script.plots.items()], limits(session.stage)
    for name, history in session.diagnostics.history.items():
        cell = _cell(name, diagnostic_label(session, name), history, None, name)
        found.append(_bounded(cell, bounds[name]) if name in bounds else cell)
    for watch, history in session.watches.history.items():
        stop = f"stops the run: {watch.stop}" if watch.stop.mask else "does not stop the run"
        found.append(_cell(f"{watch}", watch.label, history, watch, f"{watch.label}; {stop}"))
    return found


def _cell(key: str, name: str, history: TimeSeries, watch: Watch | None, note: str) -> Cell:
    times, values = thinned(history.times.values, history.values.values)
    newest = float(values[-1]) if len(values) else math.nan
    value = number(newest) if len(values) else "…"
    x_limits = (float(times[0]), float(times[-1])) if len(times) else (0.0, 1.0)
    bad, y_limits = len(values) > 0 and not math.isfinite(newest), plots.ends(values)
    return Cell(key, name, value, bad, (Curve(key, times, values),), x_limits, y_limits, watch, note)


def _bounded(cell: Cell, limit: Limit) -> Cell:
    """With the line of its limit in the range of the plot."""
    values = cell.curves[0].y
    newest = float(values[-1]) if len(values) else 0.0
    bad = cell.bad or newest > limit.bound
    y_limits = plots.ends(np.append(values, limit.bound))
    note = f"{cell.note}: up to {limit.bound:g} is fine. {limit.advice}"
    return cell._replace(bad=bad, y_limits=y_limits, note=note, bound=limit.bound)


def _of_script(name: str, plot: PlotData) -> Cell:
    curves = tuple(_curve(key or name, line.x.values, line.y.values, plot.log) for key, line in plot.lines.items())
    newest = [float(line.y[-1]) for line in plot.lines.values() if len(line.y)]
    value = number(newest[0]) if len(newest) == 1 else "" if newest else "…"
    across = np.concatenate([curve.x for curve in curves]) if curves else np.zeros(0)
    across = across[np.isfinite(across)]
    x_limits = (float(across.min()), float(across.max())) if len(across) else (0.0, 1.0)
    values = np.concatenate([curve.y for curve in curves]) if curves else np.zeros(0)
    y_limits = plots.log_ends(values) if plot.log else plots.ends(values)
    bad = any(not math.isfinite(value) for value in newest)
    units = plot.x_unit, plot.unit
    return Cell(f"script {name}", name, value, bad, curves, x_limits, y_limits, None, name, None, units, plot.log)


def _curve(name: str, x: np.ndarray, y: np.ndarray, log: bool) -> Curve:
    x, y = thinned(x, y)
    return Curve(name, x, np.where(y > 0.0, y, np.nan) if log else y)


def thinned(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """At most about `POINTS` of the points: the smallest and the greatest of each interval, so that peaks stay."""
    each = -(-len(values) // (POINTS // 2))
    if each <= 2:
        return times, values
    whole = len(values) // each * each
    intervals = values[:whole].reshape(-1, each)
    low, high = intervals.min(axis=1), intervals.max(axis=1)
    interleaved = np.column_stack([low, high]).reshape(-1)
    at = times[:whole].reshape(-1, each)[:, [0, each // 2]].reshape(-1)
    return np.append(at, times[whole:]), np.append(interleaved, values[whole:])
