"""`Box`: the position of a grid of samples in the world, also as a tensor of its corners."""

from __future__ import annotations

from typing import Any, Literal

from ...gpu import Kernel, Plan
from ...params import Params, choice, vector
from ...tensor import Tensor

SHADER = "draw/box.wgsl"
CORNERS = 8
LONGEST = 2.0  # world units of the longest edge of a box with automatic corners

Vector = tuple[float, float, float]
Corner = tuple[float, ...] | Literal["auto"]


def box_samples(default: str) -> Any:
    """The positions of a grid's samples in its box."""
    doc = "cells: samples are at cell centers; nodes: the outer samples are on the faces of the box"
    return choice(default, ("cells", "nodes"), doc=doc)


class BoxStyle(Params):
    """The box of a grid of samples."""

    low: Corner = vector(
        "auto", words=("auto",), doc="low corner of the box in world space; auto: cubic cells around the origin"
    )
    high: Corner = vector("auto", words=("auto",), doc="high corner of the box")
    samples: str = box_samples("cells")


class Corners:
    """The corners of a box on the GPU: `positions`, a tensor (8, 3).

    Layers of a grid have them as their "position", which is used to frame them with the camera.
    """

    def __init__(self, name: str):
        self.positions = Tensor.zeros((CORNERS, 3), name=f"{name}.corners")
        self._plan = Plan(f"{name}.corners")
        self._plan.dispatch(Kernel.load(SHADER), CORNERS, overwrites=("positions",), positions=self.positions)

    def set(self, low: tuple[float, ...], high: tuple[float, ...]) -> None:
        """Set them to the corners of this box."""
        self._plan.update(low=low, high=high)

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._plan.close()
        self.positions.close()


class Box(Corners):
    """The box of a grid with `size` samples along x, y and z."""

    def __init__(self, name: str, size: tuple[int, ...]):
        super().__init__(name)
        self._size = size
        self._style: tuple[object, ...] = ()
        self._fitted: tuple[Vector, Vector] = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)

    def fit(self, style: BoxStyle) -> tuple[Vector, Vector]:
        """The low and the high corner of the style, in world space; updates `positions` if they have changed."""
        values = (style.low, style.high, style.samples)
        if values != self._style:
            self._style, self._fitted = values, self._ends(style)
        self.set(*self._fitted)
        return self._fitted

    def _ends(self, style: BoxStyle) -> tuple[Vector, Vector]:
        fill = [n if style.samples == "cells" else n - 1 for n in self._size]
        half = tuple(0.5 * LONGEST * n / max(fill) for n in fill)
        low = tuple(-h for h in half) if style.low == "auto" else style.low
        high = half if style.high == "auto" else style.high
        x, y, z = (sorted((float(a), float(b))) for a, b in zip(low, high, strict=True))
        return (x[0], y[0], z[0]), (x[1], y[1], z[1])


def inset(style: BoxStyle) -> float:
    """Samples between the box and the first sample."""
    return 0.5 if style.samples == "cells" else 0.0
