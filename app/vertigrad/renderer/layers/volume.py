"""`VolumeLayer`: a box of density that absorbs, scatters and emits light."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import wgpu

from ...errors import LimitError
from ...gpu import Kernel, Plan
from ...params import number, text
from ...params.curve import sampled
from ...tensor import Tensor
from .. import black_body
from ..area_lights import MOST_LIGHTS
from ..extent import Extent
from ..moment import Moment
from ..target import COLOR, handles_samples
from . import styles
from .base import Attribute, AttributeSpec, Frame, Layer
from .box import BoxStyle, Vector, inset
from .field import FieldDrawing
from .marched_image import MarchedImage
from .opacity_image import OpacityImage
from .recipe import Recipe, Stage
from .styles import SYMMETRIC, Range, ends

LIGHT_SHADER = "draw/volume_light.wgsl"
CURVE_SAMPLES = 256  # of the opacity curve
DEPTH_STEPS = 192  # through them toward the sun, at most
MOST_LIGHT = 48  # cells of the grid of light along each axis; light varies slowly
RECIPE = Recipe(
    shader="draw/volume.wgsl",
    stages=[],
    cull="front",
    depth=True,
    computes=True,
)
PROBE = Stage("volume", "probe")  # drawn in frames of rows only


class VolumeStyle(BoxStyle):
    """The style and the box of a volume."""

    density_range: Range = styles.color_range("density that is transparent, and density with full extinction")
    extinction: float = number(
        8.0,
        min=0.0,
        max=1e9,
        slider_min=0.1,
        slider_max=200.0,
        scale="log",
        doc="extinction coefficient of full density, per world unit",
    )
    opacity_curve: str = text(
        "0:0 1:1", curve=True, doc="extinction over the range of densities: points x:y, both from 0 to 1"
    )
    colormap: str = styles.colormap("inferno")
    colormap_flip: bool = styles.COLORMAP_FLIP
    range: Range = styles.color_range()
    emissive: float = styles.EMISSIVE
    brightness: float = styles.brightness(doc="factor of the emitted light")
    shadow: float = number(
        0.85, min=0.0, max=1.0, doc="strength of the shadows in it, and of its shadow on what is behind it"
    )
    anisotropy: float = number(0.3, min=-0.9, max=0.9, doc="scattering anisotropy: above 0 forward, below 0 backward")
    steps_per_cell: float = number(1.5, min=0.25, max=8.0, doc="ray marching steps per cell")


class VolumeDrawing(FieldDrawing):
    """The box of the field, and a coarser grid of the light that reaches each cell."""

    reads_depth = True
    surveys = True
    shades_itself = True
    rebuilds = ("opacity_curve",)

    def build(self, values: Mapping[str, Attribute]) -> None:
        if not handles_samples(self.gpu):
            raise LimitError(
                f"layer {self.name!r}: a volume needs the depth of each sample, which cannot be read through OpenGL "
                f"({self.gpu.adapter}); use a Vulkan driver"
            )
        self.bind_fields(values, VolumeLayer.ATTRIBUTES, "density", ("temperature",))
        density, color = self.fields["density"], self.fields.get("color")
        self._light_size = tuple(min(max(-(-n // 2), 2), MOST_LIGHT) for n in density.size)
        self._density_extent = self.hold(self.extent_of(density.tensor))
        same = (self.style.range == SYMMETRIC) == (self.style.density_range == SYMMETRIC)
        if color is not None and color.tensor is density.tensor and same:
            self.add_extent(self._density_extent)
        else:
            self.add_color_extent()
        x, y, z = self._light_size
        self._light = self.hold(Tensor.empty((3, x * y * z, 2), name=f"{self.name}.light"))
        curve = sampled(self.style.opacity_curve, CURVE_SAMPLES)
        self._opacity = self.hold(Tensor.from_numpy(curve, name=f"{self.name}.opacity"))
        hot, glow = self.fields.get("temperature"), []
        if hot is not None:
            glow = [hot.tensor, self.hold(Tensor.from_numpy(black_body.table(), name=f"{self.name}.black_body"))]
        stored = [density.tensor, self._density_extent.pair, self._light, self._opacity, *glow]
        self.create_fields(RECIPE, stored, defines={"TEMPERATURE": hot is not None, "FORMAT": COLOR})
        self.rows = [PROBE]
        shared = self.gpu, RECIPE.shader, self.pipelines.bindings.layout, self.pipelines.defines
        self._image, self._shade = MarchedImage(*shared), OpacityImage(*shared)

    @property
    def plan_key(self) -> tuple[object, ...]:
        return ()

    def _extents(self) -> list[Extent]:
        """Those of ranges that are found on the GPU, each once."""
        ranges = ((self._density_extent, self.style.density_range), (self.extent, self.style.range))
        return list(dict.fromkeys(one for one, range in ranges if one is not None and isinstance(range, str)))

    def _rebuild_values(self) -> list[object]:
        """Also whether both ranges have one extent."""
        ranges = self.style.range, self.style.density_range
        return [*super()._rebuild_values(), *(range == SYMMETRIC for range in ranges)]

    def restyle(self) -> None:
        """Determine which extents are symmetric, and whether light is needed."""
        self._density_extent.symmetric = self.style.density_range == SYMMETRIC
        super().restyle()
        style = self.style
        self._scatters = style.emissive < 1.0
        low, high = self.box.fit(style)
        self._shading: dict[str, Any] = {
            "depth_steps": DEPTH_STEPS if style.shadow > 0.0 and self._scatters else 0,
            "shadow": style.shadow,
            "low": low,
            "box": tuple(b - a for a, b in zip(low, high, strict=True)),
            "extinction": style.extinction,
            "inset": inset(style),
            "auto_density": float(isinstance(style.density_range, str)),
            "density_range": ends(style.density_range),
        }

    def compute(self, moment: Moment | None) -> None:
        """Compute the extents of automatic ranges, and in each cell its light and whether it is empty."""
        for extent in self._extents():
            extent.record()
        if moment is not None:
            lights = moment.lights if self._scatters else ()
            rows = [(*one.center, one.kind, *one.right, 0.0, *one.above, 0.0, *one.radiance, 0.0) for one in lights]
            lamps = np.zeros((MOST_LIGHTS, 16), np.float32)
            lamps[: len(rows)] = np.reshape(rows, (-1, 16))
            self.plan.update(**self._shading, sun=moment.sun, up=moment.up, lamp_count=len(rows), lamps=lamps)

    def record(self, plan: Plan) -> None:
        """Compute in each cell its light, and whether it is empty."""
        density = self.fields["density"]
        plan.dispatch(
            Kernel.load(LIGHT_SHADER),
            self._light.shape[1],
            overwrites=("light",),
            light=self._light,
            light_size=self._light_size,
            densities=density.tensor,
            densities_size=density.size,
            densities_strides=density.strides,
            density_extent=self._density_extent.pair,
            opacity=self._opacity,
        )

    @property
    def attenuates(self) -> bool:
        return self.style.shadow > 0.0

    def shadow_box(self) -> tuple[Vector, Vector] | None:
        return self.box.fit(self.style)

    def compute_opacity(self, texels: int, frame: Frame) -> None:
        self._shade.compute(texels, frame, self.bound(frame), self._offset)

    def draw_opacity(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        self._shade.cover(pass_)

    def gather(self, frame: Frame) -> None:
        """March along the lines of sight."""
        self._image.march(frame, self.bound(frame), self._offset)

    def draw_over(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        """Draw what the march has found."""
        self._image.cover(pass_, frame.colors, self.display_referred)

    def draw_call(self, pass_: wgpu.GPURenderPassEncoder) -> None:
        pass_.draw(36)

    def uniform(self) -> dict[str, Any]:
        density_range = self.style.density_range
        return super().uniform() | {
            "color": self.color[:3],
            "density_range": ends(density_range),
            "auto_density": isinstance(density_range, str),
            "light_size": self._light_size,
            "coldest": black_body.COLDEST,
            "hottest": black_body.HOTTEST,
        }


class VolumeLayer(Layer):
    """A box of `density`, ray-marched and depth-tested against opaque objects.

    Volumes and other layers that blend are drawn in the order of the layers. A volume has no rows that can be picked.
    """

    Style = VolumeStyle
    DRAWING = VolumeDrawing
    ATTRIBUTES: ClassVar[Mapping[str, AttributeSpec]] = {
        "density": AttributeSpec(True, (1,), None, "samples on a grid (nz, ny, nx)"),
        "color": styles.field_color((0.86, 0.87, 0.89)),
        "temperature": AttributeSpec(
            *(False, (1,), None, "temperature [K] above 293 K: it emits light as a black body does, as dense as it is"),
            without="a volume that does not glow",
        ),
    }
