"""`DepthImage`: the depth of opaque objects in an image, one value for each pixel."""

from __future__ import annotations

import wgpu

from ..errors import InputError
from ..gpu import Gpu, RenderPass
from .bindings import FRAGMENT, bind_group, bind_group_layout
from .pipelines import fullscreen_pipeline
from .target import handles_samples

SHADER = "draw/depth_image.wgsl"
FORMAT = "r32float"  # reversed depth; see `OrbitCamera.distances`


def require_depth(gpu: Gpu) -> None:
    """Raise `InputError` if the depth of images cannot be read on this GPU."""
    if not handles_samples(gpu):
        raise InputError(f"{gpu.adapter}: the depth of images cannot be read through OpenGL; choose another adapter")


class DepthImage:
    """Writes the depth of a `Target` into a texture of `FORMAT`."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._layout = bind_group_layout(gpu, {0: "depth samples"}, FRAGMENT)
        self._pass = RenderPass([{"load_op": "clear", "store_op": "store"}])

    def record(self, depth: wgpu.GPUTextureView, fine: int, target: wgpu.GPUTextureView) -> None:
        """Record the pass from `depth`, of which `fine` pixels along each side become one."""
        pipeline = fullscreen_pipeline(
            self._gpu, SHADER, "depth_image_fragment", self._layout, [{"format": FORMAT}], defines={"FINE": fine}
        )
        with self._gpu.recorder.render_pass("post-process", self._pass, target) as pass_:
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, bind_group(self._gpu, self._layout, (depth,)))
            pass_.draw(3)
