"""`BirdsLayer`: birds that fly along a direction, bank and beat their wings."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...errors import ParameterError
from ...params import angle, number
from ...tensor import Tensor
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .meshes import IndexedDrawing
from .recipe import Recipe, Stage

CORNERS = 45  # of the triangles of a bird: `BODY_CORNERS` and twice `WING_CORNERS` in the shader
# For each of them the first that is at the same place, so that a vertex is computed once: the body, and one wing.
BODY = (0, 1, 2, 0, 2, 5, 0, 5, 8, 0, 8, 1, 12, 2, 1, 12, 5, 2, 12, 8, 5, 12, 1, 8, 24, 25, 26)
WING = (0, 1, 2, 2, 1, 5, 1, 7, 5)
INDEX = np.array([*BODY, *(len(BODY) + n for n in WING), *(len(BODY) + len(WING) + n for n in WING)], np.uint32)
RECIPE = Recipe(
    shader="draw/birds.wgsl",
    stages=[Stage("bird", "bird")],
    locations={"position": 0, "color": 1, "size": 2, "extent": 3, "direction": 4, "bank": 5},
    deferred=True,
)


class BirdsStyle(styles.LitStyle):
    """The style of birds."""

    roughness: float = styles.roughness(0.6)
    wing_beat: float = number(9.0, min=0.0, max=100.0, slider_max=20.0, unit="1/s", doc="wing beats per second")
    wing_amplitude: float = angle(38.0, min=0.0, max=80.0, doc="amplitude of the wings")
    glide: float = number(0.3, min=0.0, max=1.0, doc="fraction of the time in which a bird glides without wing beats")


class BirdsDrawing(IndexedDrawing):
    """A bird for each row, whose vertices follow from their indices."""

    def build(self, values: Mapping[str, Attribute]) -> None:
        self.bind_rows(values, BirdsLayer.ATTRIBUTES)
        self._size, self._bank = self.attributes.number("size"), self._roll()
        self.index, self.count = self.hold(Tensor.from_numpy(INDEX, name=f"{self.name}.index")), self.attributes.rows
        self.create(RECIPE, [self.attributes], others=[self.index])

    def state(self, time: float) -> tuple[object, ...] | None:
        """Also the time: wings beat."""
        known = super().state(time)
        return None if known is None else (*known, time)

    def uniform(self) -> dict[str, Any]:
        style = self.style
        return {
            "size": self._size,
            "bank": self._bank,
            "beat": style.wing_beat,
            "amplitude": math.radians(style.wing_amplitude),
        }

    def _roll(self) -> float:
        """A constant bank [rad]; 1, as a factor, where it is a tensor."""
        value = self.attributes.constants.get("bank", 1.0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ParameterError(f"layer {self.name!r}: bank must be an angle in radians, got {value!r}")
        return float(value)


class BirdsLayer(Layer):
    """A bird for each row of `position` that flies along `direction`.

    It is upright but for its `bank`, and beats its wings in a phase and at a rate of its own, by the time that the
    scene has run. A row that is not finite is not drawn.
    """

    casts = True
    blends = True
    Style = BirdsStyle
    DRAWING = BirdsDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "direction": AttributeSpec(True, (3,), None, "direction of flight, of any length"),
        "color": styles.color_attribute((0.2, 0.2, 0.22)),
        "size": AttributeSpec(False, (1,), 0.2, "half the wingspan in world units"),
        "bank": AttributeSpec(False, (1,), 0.0, "roll to the right, in radians"),
    }
