"""`Viewer.plot`: values that a script appends or sets, and reads back."""

from __future__ import annotations

import math

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.errors import DtypeError, InputError
from vertigrad.panels import plot_cells
from vertigrad.session.script import CAPACITY


def test_values_are_appended_and_read_back(viewer: vg.Viewer) -> None:
    loss = viewer.plot("loss", unit="nats", log=True)
    assert loss.points.shape == (0, 2)
    for value in (4.0, np.float32(2.0), np.array([1.0])):
        loss.append(value)
    with vg.Tensor.from_numpy(np.float32([0.5])) as half:
        loss.append(half, x=10)
    loss.append(math.nan)
    np.testing.assert_array_equal(loss.points, [[0, 4], [1, 2], [2, 1], [10, 0.5], [11, math.nan]])
    assert len(loss) == 5 and loss.lines == ("",)


def test_several_names_give_several_lines(viewer: vg.Viewer) -> None:
    plot = viewer.plot("losses")
    plot.append(train=1.0, test=2.0, x=0)
    plot.append(train=0.5, x=5)
    assert plot.lines == ("train", "test")
    np.testing.assert_array_equal(plot["train"], [[0, 1], [5, 0.5]])
    np.testing.assert_array_equal(plot["test"], [[0, 2]])
    plot.set(np.arange(3), train=[7, 8, 9])
    np.testing.assert_array_equal(plot["train"], [[0, 7], [1, 8], [2, 9]])
    plot.clear()
    assert plot.lines == ()
    with pytest.raises(InputError, match=r"has no line 'train'; it has none"):
        plot["train"]


def test_a_whole_curve_is_set(viewer: vg.Viewer) -> None:
    x = np.linspace(0, 1, 50)
    plot = viewer.plot("spectrum", x**2, x=x, x_unit="Hz")
    np.testing.assert_allclose(plot.points, np.column_stack([x, x**2]))
    plot.set([3, 2, 1])
    np.testing.assert_array_equal(plot.points, [[0, 3], [1, 2], [2, 1]])
    cell = plot_cells.cells(viewer.session)[0]
    assert (cell.name, cell.units, cell.x_limits) == ("spectrum", ("Hz", ""), (0.0, 2.0))


def test_the_newest_values_are_stored(viewer: vg.Viewer) -> None:
    plot = viewer.plot("long")
    plot.set(np.arange(CAPACITY + 10))
    assert len(plot) == CAPACITY and plot.points[0, 1] == 10
    cell = plot_cells.cells(viewer.session)[0]
    assert len(cell.curves[0].y) <= 2 * plot_cells.POINTS


def test_the_panel_shows_lines_with_a_log_axis(viewer: vg.Viewer) -> None:
    plot = viewer.plot("loss", log=True)
    plot.append(train=10.0, test=-1.0)
    plot.append(train=0.1, test=1.0)
    cell = plot_cells.cells(viewer.session)[0]
    assert [curve.name for curve in cell.curves] == ["train", "test"]
    assert math.isnan(cell.curves[1].y[0])  # a logarithm has no such value
    low, high = cell.y_limits
    assert 0.05 < low < 0.1 and 10.0 < high < 20.0
    plot.remove()
    assert plot_cells.cells(viewer.session) == []
    with pytest.raises(InputError, match="the plot 'loss' was removed"):
        plot.append(1.0)


def test_a_plot_that_fails_keeps_the_previous_one(viewer: vg.Viewer) -> None:
    before = viewer.plot("loss", [1, 2])
    with pytest.raises(InputError, match=r"x has 3 values, value 2"):
        viewer.plot("loss", [1, 2], x=[1, 2, 3])
    np.testing.assert_array_equal(before.points, [[0, 1], [1, 2]])
    with pytest.raises(InputError):
        viewer.plot("other", np.zeros((2, 2)))
    assert set(viewer.session.script.plots) == {"loss"}


@pytest.mark.parametrize(
    ("act", "error", "match"),
    [
        (lambda plot: plot.append(), InputError, "no values were given"),
        (lambda plot: plot.append([1, 2]), InputError, r"value: expected one number, got an array of shape \(2,\)"),
        (lambda plot: plot.append(a="b"), DtypeError, "a: expected numbers, got <U1"),
        (lambda plot: plot.append(1j), DtypeError, "value: expected numbers, got complex128"),
        (lambda plot: plot.append(1, x=[]), InputError, "x: expected one number"),
        (
            lambda plot: plot.set(np.zeros((2, 3))),
            InputError,
            r"value: expected an array of shape \(n,\), got \(2, 3\)",
        ),
        (lambda plot: plot.set([[1], [2, 3]]), DtypeError, "value: cannot be converted"),
        (lambda plot: plot.set([1], a=[1, 2]), InputError, "x has 1 values, a 2"),
    ],
)
def test_invalid_values_change_nothing(viewer: vg.Viewer, act, error: type[Exception], match: str) -> None:
    plot = viewer.plot("loss", [1.0, 2.0])
    with pytest.raises(error, match=match):
        act(plot)
    assert plot.lines == ("",) and len(plot) == 2
