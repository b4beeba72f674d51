"""`Target`: the textures that a picture is drawn into before it is developed."""

from __future__ import annotations

from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass

SAMPLES = 4
COLOR = "rgba16float"  # linear light, premultiplied by coverage
WEIGHED, THROUGH = "rgba16float", "r16float"  # of what is transparent: shaders/common/transparency.wgsl
DEPTH = "depth32float"  # reversed: 1 at the near plane, cleared to 0

_ADDED = {"src_factor": "one", "dst_factor": "one", "operation": "add"}
_MULTIPLIED = {"src_factor": "zero", "dst_factor": "src", "operation": "add"}
CLEAR_TARGETS: tuple[dict[str, Any], ...] = (
    {"format": WEIGHED, "blend": {"color": _ADDED, "alpha": _ADDED}},
    {"format": THROUGH, "blend": {"color": _MULTIPLIED, "alpha": _MULTIPLIED}},
)


def handles_samples(gpu: Gpu) -> bool:
    """Whether shaders may choose the samples that they cover, and read samples one by one.

    Through OpenGL they may not with wgpu-native 29: a sample mask does not compile (a uint is assigned to an int[1]),
    and a multisampled texture that is also bound stays empty. Coverage goes through alpha there and the picture is
    resolved before it is developed, so very bright outlines are less smooth.
    """
    return not gpu.adapter.backend.startswith("OpenGL")


def multisample_state(gpu: Gpu, solid: bool) -> dict[str, object]:
    """The multisampling of a pipeline that draws into a `Target`; `solid` if it replaces what was there."""
    by_alpha = solid and not handles_samples(gpu)
    return {"count": SAMPLES, "mask": 0xFFFFFFFF, "alpha_to_coverage_enabled": by_alpha}


def depth_state(write: bool) -> dict[str, object]:
    """The depth test of a pipeline that draws into a `Target`; `write` keeps what it draws in front."""
    return {"format": DEPTH, "depth_write_enabled": write, "depth_compare": "greater"}


class Target:
    """Multisampled colour and depth, and the colour resolved to one sample (`light`), all of one size in pixels.

    `layers_pass` draws everything at once; `solid_pass` and `over_pass` do the same in two parts, and in the second
    `depth` can be read. `picture` is what is developed: the samples where they can be read, else `light`. Textures are
    dropped, never destroyed, when the size changes: commands recorded with the old ones may still be waiting for their
    submit, and wgpu frees a texture when the last of them has finished.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self.by_sample = handles_samples(gpu)
        self.size = (0, 0)

    def resize(self, size: tuple[int, int]) -> bool:
        """Make the textures for `size` unless they have it already; whether they are new."""
        if size == self.size:
            return False
        drawn, read = wgpu.TextureUsage.RENDER_ATTACHMENT, wgpu.TextureUsage.TEXTURE_BINDING
        self._samples = self._texture(size, COLOR, drawn | read if self.by_sample else drawn, SAMPLES)
        self.depth = self._texture(size, DEPTH, drawn | read if self.by_sample else drawn, SAMPLES)
        self.light = self._texture(size, COLOR, drawn | read, 1)
        self.picture = self._samples if self.by_sample else self.light
        self.layers_pass = {resolve: self._layers_pass(resolve) for resolve in (False, True)}
        self.solid_pass = RenderPass([self._kept_color()], self._depth("store"))
        self.over_pass = {resolve: self._over_pass(resolve) for resolve in (False, True)}
        self.size = size
        return True

    def _layers_pass(self, resolve: bool) -> RenderPass:
        return RenderPass([self._color("clear", resolve)], self._depth("discard"))

    def _over_pass(self, resolve: bool) -> RenderPass:
        return RenderPass([self._color("load", resolve)], {"view": self.depth, "depth_read_only": True})

    def _color(self, load: str, resolve: bool) -> dict[str, Any]:
        return {
            "view": self._samples,
            "resolve_target": self.light if resolve or not self.by_sample else None,
            "clear_value": (0.0, 0.0, 0.0, 0.0),
            "load_op": load,
            "store_op": "store" if self.by_sample else "discard",
        }

    def _kept_color(self) -> dict[str, Any]:
        return {**self._color("clear", False), "resolve_target": None, "store_op": "store"}

    def _depth(self, store: str) -> dict[str, Any]:
        return {
            "view": self.depth,
            "depth_clear_value": 0.0,
            "depth_load_op": "clear",
            "depth_store_op": store,
        }

    def _texture(self, size: tuple[int, int], format: str, usage: int, samples: int) -> wgpu.GPUTextureView:
        texture = self._gpu.device.create_texture(
            size=(*size, 1),
            format=format,  # pyright: ignore[reportArgumentType]
            usage=usage,
            sample_count=samples,
        )
        return texture.create_view()
