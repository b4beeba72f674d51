"""`Handles`: arrows in the image with which a position is moved, faint where something is in front of them."""

from __future__ import annotations

import struct
from typing import NamedTuple

import numpy as np
import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import Bindings
from .pipelines import draw_cache, render_pipeline
from .target import BLEND_OVER, SAMPLES, handles_samples

SHADER = "draw/handles.wgsl"
AXES = struct.Struct("<16f12f4f4I4f4f")  # `Handles` in the shader
MARGIN = 12.0  # around the tips, in units: heads and halos
Color = tuple[float, float, float]


class Handles(NamedTuple):
    """The handles of one position in an image.

    `ends` (4, 3): the position and the tips of the arrows along x, y and z: pixels from the image's upper left, and the
    depth of clip space. `tints` are sRGB from 0 to 1. `lit` is the part under the mouse: 0 to 2 an arrow, 3 to 5 the
    plane perpendicular to that axis, 6 the center. `unit` is the width of a line, and `reach` the length of an arrow
    across the view, in pixels.
    """

    ends: np.ndarray
    tints: tuple[Color, Color, Color]
    lit: int | None
    unit: float
    reach: float


class HandleDrawing:
    """Draws handles over images of one format."""

    def __init__(self, gpu: Gpu, color_format: str):
        self._gpu, self._format = gpu, color_format
        self._samples = SAMPLES if handles_samples(gpu) else 0
        self._bindings = Bindings(gpu, (AXES.size,), ("depth samples",) if self._samples else ())
        self._pass = RenderPass([{"load_op": "load", "store_op": "store"}])

    def record(
        self,
        handles: Handles,
        depth: wgpu.GPUTextureView,
        size: tuple[int, int],
        corner: tuple[int, int],
        target_view: wgpu.GPUTextureView,
    ) -> None:
        """Record them over the image of `size`, at `corner` of the target.

        `depth` is the depth texture of opaque objects; it may have another size.
        """
        offset = self._gpu.uniforms.push(_packed(handles, size))
        with self._gpu.recorder.render_pass("handles", self._pass, target_view) as pass_:
            pass_.set_viewport(*corner, *size, 0.0, 1.0)
            pass_.set_scissor_rect(*corner, *size)
            pass_.set_pipeline(self._pipeline())
            resources = (depth,) if self._samples else ()
            pass_.set_bind_group(0, self._bindings.group(resources, lambda: resources), (offset,))
            pass_.draw(4)

    def _pipeline(self) -> wgpu.GPURenderPipeline:
        def create() -> wgpu.GPURenderPipeline:
            return render_pipeline(
                self._gpu,
                SHADER,
                ("handles_vertex", "handles_fragment"),
                [self._bindings.layout],
                [{"format": self._format, "blend": BLEND_OVER}],
                defines={"SAMPLES": self._samples, "ENCODED_BY_TARGET": self._format.endswith("-srgb")},
                topology="triangle-strip",
            )

        return draw_cache(self._gpu).get((SHADER, self._format), create)


def _packed(handles: Handles, size: tuple[int, int]) -> bytes:
    ends, lit = handles.ends, handles.lit
    margin = MARGIN * handles.unit
    low = np.maximum(ends[:, :2].min(axis=0) - margin, 0.0)
    high = np.minimum(ends[:, :2].max(axis=0) + margin, size)
    return AXES.pack(
        *np.column_stack([ends, np.zeros(4)]).ravel(),
        *(part for axis, tint in enumerate(handles.tints) for part in (*tint, float(lit == axis))),
        *(float(lit == part) for part in (3, 4, 5, 6)),
        *np.argsort(ends[1:, 2]),
        0,
        *size,
        handles.unit,
        handles.reach,
        *low,
        *np.maximum(high, low),
    )
