"""`LiquidLayer`: particles as the surface of a liquid that reflects, refracts and absorbs light."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import wgpu

from ...errors import LimitError
from ...params import Params, color, number
from ...params.color_space import linear
from ..target import handles_samples
from . import styles
from .base import Attribute, AttributeSpec, Frame, Layer
from .drawing import Drawing
from .liquid_rows import LiquidRows
from .liquid_shadow import LiquidShadow
from .liquid_surface import LiquidSurface
from .liquid_tiles import LiquidTiles
from .recipe import Recipe, Stage

RECIPE = Recipe(
    shader="draw/liquid.wgsl",
    stages=[],  # the surface is drawn by `LiquidSurface`
    locations={"position": 0, "size": 1, "density": 2},
    topology="triangle-strip",
)
SPHERE = Stage("sphere", "sphere")  # drawn in frames of depth and of rows only
LEAST = 1e-4  # of a color: its logarithm is finite


class LiquidStyle(Params):
    """The style of a liquid. The defaults are those of clear water."""

    absorption_color: tuple[float, float, float] = color(
        "#8fd0dd", doc="color of white light after a path of absorption_distance"
    )
    absorption_distance: float = styles.length(1.0, 0.05, 20.0, "path after which white light has that color")
    scattering: float = number(
        0.3, min=0.0, max=1e12, slider_max=20.0, doc="scattering coefficient, per world unit; 0: perfectly clear"
    )
    ior: float = number(1.333, min=1.0, max=3.0, slider_max=2.0, doc="index of refraction")
    roughness: float = styles.roughness(0.08)
    smoothing: float = number(
        10.0,
        min=0.0,
        max=40.0,
        slider_max=20.0,
        doc="radius of the filter that makes the surface smooth, in sizes; at most 192 pixels",
    )
    sphere_scale: float = number(
        1.6, min=0.5, max=4.0, doc="radius of the sphere of each particle, in sizes; larger ones leave fewer gaps"
    )
    rest_density: float = number(
        1000.0,
        min=1e-6,
        max=1e12,
        slider_max=2e4,
        scale="log",
        doc="of the liquid, in the unit of the attribute density",
    )
    drop_size: float = number(
        0.55, min=0.05, max=1.0, doc="mean size of particles that fly alone, where density is bound, relative to others"
    )
    size_variation: float = number(
        0.0, min=0.0, max=0.9, doc="random variation of the size of particles that fly alone, relative to it"
    )
    shadow: float = number(
        0.4,
        min=0.0,
        max=1.0,
        doc="strength of its shadow: a factor of the optical depth that the sun's light goes through",
    )


class LiquidDrawing(Drawing):
    """A quad for each particle where its depth or row is asked for, and what computes the surface of all of them."""

    reads_depth = True
    refracts = True
    occludes = False  # light goes through it: its shadow is in the map of optical depths

    def build(self, values: Mapping[str, Attribute]) -> None:
        if not handles_samples(self.gpu):
            raise LimitError(
                f"layer {self.name!r}: a liquid needs the samples of the image behind it, which cannot be read through "
                f"OpenGL ({self.gpu.adapter}); use a Vulkan driver, or draw it as points"
            )
        self.bind_rows(values, LiquidLayer.ATTRIBUTES)
        self._size = self.attributes.number("size")
        self.create(RECIPE, [self.attributes])
        self.rows = [SPHERE]
        style_size = self.pipelines.style.size
        shared = self.gpu, self.name, LiquidRows(self.gpu, self.name, self.attributes), style_size
        self._tiles, self._shadow = self.hold(LiquidTiles(*shared)), self.hold(LiquidShadow(*shared))
        self._surface = LiquidSurface(self.gpu, self._tiles, style_size)

    def state(self, time: float) -> None:
        """Not known: how much memory tiles have is read back."""

    def draw(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the spheres where only depth is asked for."""
        if frame.drawn == "depth":
            self._draw(pass_, frame, [SPHERE])

    @property
    def attenuates(self) -> bool:
        return self.style.shadow > 0.0

    def compute_opacity(self, texels: int, frame: Frame) -> None:
        self.bound(frame)
        self._shadow.compute(texels, frame, self._offset)

    def draw_opacity(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        self._shadow.cover(pass_)

    def refract(self, frame: Frame) -> None:
        """Compute the surface and its light, from the opaque objects behind it."""
        self.bound(frame)
        self._surface.record(frame, self._offset)

    def draw_refracted(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw the surface."""
        self._surface.cover(pass_, frame, self._offset)

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(4, self.attributes.rows)

    def uniform(self) -> dict[str, Any]:
        style = self.style
        passes = (max(c, LEAST) for c in linear(style.absorption_color))
        return {
            "size": self._size,
            "absorption": tuple(-math.log(c) / style.absorption_distance for c in passes),
        }


class LiquidLayer(Layer):
    """The surface of a liquid, from a row of `position` for each particle; it is opaque to what is drawn over it.

    Particles are drawn as spheres, whose depth is filtered over the image (Truong and Yuksel 2018). Light is reflected
    by Fresnel's equations; what was drawn as opaque is seen through it, refracted, and absorbed (Beer-Lambert) along
    the length of liquid that is in the line of sight. Each particle has the volume (2 `size`)³; one that flies alone,
    by its `density`, stands for a spray of which a drop is drawn. A row that is not finite is not drawn.
    """

    casts = True
    Style = LiquidStyle
    DRAWING = LiquidDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "position": styles.POSITION,
        "size": AttributeSpec(False, (1,), 0.01, "half the distance of particles at rest, in world units"),
        "density": AttributeSpec(
            False, (1,), None, "density, by which particles that fly alone are smaller drops", without="all are of size"
        ),
    }
