"""`LightLayer`: a rectangle, disc or sphere that emits light, and lights what other layers draw."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import wgpu

from ...errors import LimitError
from ...params import Params, angle, choice, color, number, switch, vector
from ...params.color_space import linear
from ..area_lights import KINDS, MOST_LIGHTS, AreaLight
from . import styles
from .base import Attribute, AttributeSpec, Layer
from .box import Corners
from .drawing import Drawing
from .recipe import Recipe, Stage

STAGE = Stage("light", "light", rows=False)
RECIPE = Recipe(shader="draw/light.wgsl", stages=[STAGE])
VERTICES = (6, 3 * 64, 6 * 24 * 48)  # by kind; mirrored in the shader


class LightStyle(Params):
    """An area light: lengths are in world units, which are taken for meters."""

    shape: str = choice("rectangle", KINDS, doc="rectangles and discs shine toward the target, spheres all around")
    position: tuple[float, ...] = vector((0.0, 3.0, 0.0), gizmo="position", doc="its center")
    target: tuple[float, ...] = vector((0.0, 0.0, 0.0), gizmo="position", doc="the point that it is turned to")
    roll: float = angle(0.0, min=-360.0, max=360.0, doc="rotation around the direction in which it shines")
    width: float = styles.length(1.0, 0.01, 10.0, "width; of a sphere its diameter", min=1e-6)
    height: float = styles.length(1.0, 0.01, 10.0, "height of a rectangle or a disc", min=1e-6)
    color: tuple[float, float, float] = color("#ffffff", doc="color of its light")
    power: float = number(
        100.0,
        min=0.0,
        max=1e9,
        slider_min=1.0,
        slider_max=1e4,
        unit="W",
        scale="log",
        doc="radiant power; its radiance is power / (pi * area), the same from all sides",
    )
    shadows: bool = switch(True, doc="soft shadows of what is opaque, from a map around the camera's target")
    visible: bool = switch(True, doc="whether the light itself can be seen, from the side to which it shines")


class LightDrawing(Drawing):
    """The surface of the light."""

    def build(self, values: Mapping[str, Attribute]) -> None:
        # It counts neither for the box around everything nor for the camera that fits it.
        corners = self.hold(Corners(self.name))
        corners.set((math.nan,) * 3, (math.nan,) * 3)
        self.bind_grid(values, {}, (), corners.positions)
        self.create(RECIPE)

    def restyle(self) -> None:
        """Compute the light of the style."""
        self.light = area_light(self.style)
        super().restyle()
        self.solid = [STAGE] if self.style.visible else []

    @property
    def row_count(self) -> int:
        """It has none."""
        return 0

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(VERTICES[self.light.kind])

    def uniform(self) -> dict[str, Any]:
        light = self.light
        return {**light._asdict(), "kind": float(light.kind)}


class LightLayer(Layer):
    """An area light."""

    Style = LightStyle
    DRAWING = LightDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {}
    most = MOST_LIGHTS
    framed = False


def area_light(style: LightStyle) -> AreaLight:
    """The light that a style describes. Its width is level where y or z is up."""
    kind = KINDS.index(style.shape)
    center = np.array(style.position, float)
    forward = np.array(style.target, float) - center
    length = float(np.linalg.norm(forward))
    forward = forward / length if length > 0.0 else np.array((0.0, -1.0, 0.0))
    hint = np.array((0.0, 1.0, 0.0) if abs(forward[1]) < 0.99 else (0.0, 0.0, -1.0))
    right = np.cross(hint, forward)
    right /= np.linalg.norm(right)
    above = np.cross(forward, right)
    turn = math.radians(style.roll)
    right, above = math.cos(turn) * right + math.sin(turn) * above, math.cos(turn) * above - math.sin(turn) * right
    height = style.width if style.shape == "sphere" else style.height
    axes = (_vector(center), _vector(0.5 * style.width * right), _vector(0.5 * height * above))
    light = AreaLight(kind, *axes, (0.0, 0.0, 0.0), style.shadows, style.visible)
    radiance = style.power / (math.pi * light.area)
    r, g, b = (radiance * channel for channel in linear(style.color))
    return light._replace(radiance=(r, g, b))


def _vector(array: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(c) for c in array)
    return x, y, z


def area_lights(layers: Sequence[Layer]) -> tuple[AreaLight, ...]:
    """Those among the layers. Raises `LimitError` for too many."""
    found = tuple([area_light(layer.style) for layer in layers if isinstance(layer, LightLayer)])
    if len(found) > MOST_LIGHTS:
        raise LimitError(f"{len(found)} layers of the type light; an image may have {MOST_LIGHTS}")
    return found
