"""`write_plots`: each outcome over the swept parameters, as PNG files; by Matplotlib."""

from __future__ import annotations

import io
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..atomic_file import write_file
from ..errors import InputError
from .table import Results

FOLDER = "plots"
WIDTH, HEIGHT, DPI = 4.2, 3.4, 120  # inches of one plot, pixels of an inch
MISSING = "plots are drawn by Matplotlib, which is not installed; install it with pip install 'vertigrad[sweep]'"


def can_plot() -> bool:
    """Whether Matplotlib is installed."""
    try:
        import_module("matplotlib")
    except ImportError:
        return False
    return True


def write_plots(results: Results) -> list[Path]:
    """Write plots/OUTCOME.png for each outcome that has values; returns the paths.

    A grid of two parameters is a heat map; else there is a plot of the outcome over each numeric parameter. Raises
    `InputError` if Matplotlib is not installed.
    """
    if not can_plot():
        raise InputError(MISSING)
    parameters = [name for name in results.parameters if _is_numeric(results[name])]
    written = []
    for outcome in results.outcomes if parameters else ():
        values = results[outcome]
        if np.isfinite(values).sum() < 2:
            continue
        path = results.folder / FOLDER / f"{re.sub(r'[^A-Za-z0-9_.-]+', '_', outcome)}.png"
        write_file(path, _drawn(results, parameters, outcome, values), make_folder=True)
        written.append(path)
    return written


def _is_numeric(column: np.ndarray) -> bool:
    return column.dtype.kind in "if" and len(np.unique(column)) > 1


def _drawn(results: Results, parameters: list[str], outcome: str, values: np.ndarray) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    grid = _grid(results, parameters, values) if len(parameters) == 2 else None
    count = 1 if grid is not None else len(parameters)
    canvas = FigureCanvasAgg(Figure(figsize=(WIDTH * count, HEIGHT), dpi=DPI, layout="constrained"))
    axes = np.atleast_1d(canvas.figure.subplots(1, count, sharey=True))
    if grid is not None:
        _draw_heat_map(canvas.figure, axes[0], parameters, outcome, grid)
    else:
        for index, name in enumerate(parameters):
            _draw_points(axes[index], results[name], values, name, outcome if index == 0 else "")
    file = io.BytesIO()
    canvas.print_png(file)
    return file.getvalue()


def _grid(results: Results, parameters: list[str], values: np.ndarray) -> tuple[np.ndarray, ...] | None:
    """The levels of two parameters and the mean of the values at each pair; None if it is no grid."""
    (across, columns), (down, rows) = (np.unique(results[name], return_inverse=True) for name in parameters)
    if len(across) * len(down) > len(values):
        return None
    measured = np.isfinite(values)
    total, count = np.zeros((len(down), len(across))), np.zeros((len(down), len(across)))
    np.add.at(total, (rows[measured], columns[measured]), values[measured])
    np.add.at(count, (rows[measured], columns[measured]), 1)
    return across, down, np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def _draw_heat_map(drawing: Any, axes: Any, parameters: list[str], outcome: str, grid: tuple[np.ndarray, ...]) -> None:
    across, down, values = grid
    image = axes.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    for axis, levels in ((axes.xaxis, across), (axes.yaxis, down)):
        shown = np.unique(np.linspace(0, len(levels) - 1, min(len(levels), 6)).round().astype(int))
        axis.set_ticks(shown, [f"{levels[index]:.3g}" for index in shown])
    axes.set_xlabel(parameters[0])
    axes.set_ylabel(parameters[1])
    drawing.colorbar(image, ax=axes, label=outcome)


def _draw_points(axes: Any, parameter: np.ndarray, values: np.ndarray, name: str, outcome: str) -> None:
    measured = np.isfinite(values)
    axes.plot(parameter[measured], values[measured], ".", color="#2a78b8", markersize=7, alpha=0.75)
    levels = np.unique(parameter[measured])
    if 1 < len(levels) <= measured.sum() / 2 or len(levels) == measured.sum() <= 64:
        means = [values[measured & (parameter == level)].mean() for level in levels]
        axes.plot(levels, means, "-", color="#2a78b8", linewidth=1.2)
    if parameter.min() > 0 and parameter.max() / parameter.min() > 200:
        axes.set_xscale("log")
    axes.set_xlabel(name)
    axes.set_ylabel(outcome)
    axes.grid(alpha=0.25)
