"""`Plot`: values over time in a script's viewer, and `PlotMethods`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ..errors import DtypeError, InputError
from ..session.script import Line, PlotData
from ..tensor import Tensor
from .checks import checked_text
from .content import Content


class Plot:
    """A plot in the Watch panel. `plot.append(0.3)` adds a point, `plot.set(x, y)` replaces all.

    Names make several lines: `plot.append(train=0.3, test=0.5)`. `plot["train"]` has the points (n, 2) of one, float64;
    of each line the last 100,000 are kept. Values that are not finite are gaps.
    """

    def __init__(self, content: Content, name: str):
        self.name = name
        self._content = content

    def append(self, value: Any = None, *, x: Any = None, **values: Any) -> None:
        """Add a point at `x`, by default one behind the last one, to each of the lines named.

        A `Tensor` of one element is read back, which waits for the GPU. Raises `InputError`, `DtypeError`.
        """
        named = self._named(value, values)
        found = {key: _number(one, key or "value") for key, one in named.items()}
        at = None if x is None else _number(x, "x")
        for key, one in found.items():
            line = self._data.lines.setdefault(key, Line())
            behind = line.x[-1] + 1.0 if len(line.x) else 0.0
            line.append(behind if at is None else at, one)

    def set(self, x: Any = None, value: Any = None, **values: Any) -> None:
        """Replace the points of the lines named: `set(x, y)`, or `set(y)` over 0, 1, 2 and so on.

        Raises `InputError` if the lengths differ, `DtypeError` for what are no numbers.
        """
        if value is None and not values:
            x, value = None, x
        named = {key: _column(one, key or "value") for key, one in self._named(value, values).items()}
        at = None if x is None else _column(x, "x")
        for key, ys in named.items():
            if at is not None and len(at) != len(ys):
                raise InputError(f"plot {self.name!r}: x has {len(at)} values, {key or 'value'} {len(ys)}")
        for key, ys in named.items():
            line = self._data.lines.setdefault(key, Line())
            line.clear()
            for point in zip(range(len(ys)) if at is None else at, ys, strict=True):
                line.append(*point)

    def clear(self) -> None:
        """Remove all lines."""
        self._content.require_open()
        self._data.lines.clear()

    def remove(self) -> None:
        """Take the plot out of the window. Idempotent."""
        self._content.require_open()
        self._content.session.script.plots.pop(self.name, None)

    @property
    def lines(self) -> tuple[str, ...]:
        """The names of its lines; "" is that of values without a name."""
        return tuple(self._data.lines)

    def __getitem__(self, line: str) -> np.ndarray:
        if line not in self._data.lines:
            raise InputError(
                f"plot {self.name!r} has no line {line!r}; it has {', '.join(map(repr, self.lines)) or 'none'}"
            )
        found = self._data.lines[line]
        return np.column_stack([found.x.values, found.y.values])

    @property
    def points(self) -> np.ndarray:
        """The points (n, 2), x and y, of the line without a name."""
        return self[""] if "" in self._data.lines else np.zeros((0, 2))

    def __len__(self) -> int:
        return sum(len(line.y) for line in self._data.lines.values())

    def __repr__(self) -> str:
        return f"Plot({self.name!r}, {len(self)} points)"

    @property
    def _data(self) -> PlotData:
        plots = self._content.session.script.plots
        if self.name not in plots:
            raise InputError(f"the plot {self.name!r} was removed")
        return plots[self.name]

    def _named(self, value: Any, values: dict[str, Any]) -> dict[str, Any]:
        self._content.require_open()
        named = values if value is None else {"": value, **values}
        if not named:
            raise InputError(f"plot {self.name!r}: no values were given")
        return named


class PlotMethods(ABC):
    """Adds plots to the Watch panel."""

    _content: Content

    def plot(
        self, name: str, y: Any = None, *, x: Any = None, x_unit: str = "", unit: str = "", log: bool = False
    ) -> Plot:
        """A plot of values that the script appends or sets; one of that name is replaced.

        `y` are its first values, `x` where they are. `x_unit` and `unit` are written at the axes; with `log` the
        vertical one is logarithmic. Raises `InputError`, `DtypeError`.
        """
        self._content.require_open()
        checked_text(name, "name")
        plots = self._content.session.script.plots
        before = plots.get(name)
        plots[name] = PlotData(x_unit, unit, log)
        plot = Plot(self._content, name)
        try:
            if y is not None:
                plot.set(x, y) if x is not None else plot.set(y)
        except BaseException:
            if before is None:
                del plots[name]
            else:
                plots[name] = before
            raise
        self._plot_added()
        return plot

    @abstractmethod
    def _plot_added(self) -> None:
        """Bring the plots to the front."""


def _number(value: Any, name: str) -> float:
    array = _array(value, name)
    if array.size != 1:
        raise InputError(f"{name}: expected one number, got an array of shape {array.shape}; `set` takes many")
    return float(array.reshape(()))


def _column(value: Any, name: str) -> np.ndarray:
    array = _array(value, name)
    if array.ndim != 1:
        raise InputError(f"{name}: expected an array of shape (n,), got {array.shape}")
    return array


def _array(value: Any, name: str) -> np.ndarray:
    try:
        array = value.numpy() if isinstance(value, Tensor) else np.asarray(value)
    except (TypeError, ValueError) as error:
        raise DtypeError(f"{name}: cannot be converted to an array ({error})") from None
    if array.dtype.kind not in "fiub":
        raise DtypeError(f"{name}: expected numbers, got {array.dtype}")
    return array.astype(float)
