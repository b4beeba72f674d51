"""`Target`: the textures that a picture is drawn into before it is tone-mapped."""

from __future__ import annotations

from typing import Any

import wgpu

from ..gpu import Gpu, RenderPass

SAMPLES = 4
COLOR = "rgba16float"  # linear light, or what a screen shows, premultiplied by coverage
WEIGHED, THROUGH = "rgba16float", "r16float"  # of what is transparent: shaders/common/transparency.wgsl
DEPTH = "depth32float"  # reversed: 1 at the near plane, cleared to 0

_ADDED = {"src_factor": "one", "dst_factor": "one", "operation": "add"}
_MULTIPLIED = {"src_factor": "zero", "dst_factor": "src", "operation": "add"}
_OVER = {"src_factor": "one", "dst_factor": "one-minus-src-alpha", "operation": "add"}
_TAKEN = {"src_factor": "zero", "dst_factor": "one-minus-src-alpha", "operation": "add"}
BLEND_OVER = {"color": _OVER, "alpha": _OVER}  # of premultiplied colors
TAKE_AWAY = {"color": _TAKEN, "alpha": _TAKEN}  # from what is there, as much as is covered
CLEAR_TARGETS: tuple[dict[str, Any], ...] = (
    {"format": WEIGHED, "blend": {"color": _ADDED, "alpha": _ADDED}},
    {"format": THROUGH, "blend": {"color": _MULTIPLIED, "alpha": _MULTIPLIED}},
)


def handles_samples(gpu: Gpu) -> bool:
    """Whether shaders may choose the samples that they cover, and read samples one by one.

    Through OpenGL they may not with wgpu-native 29: a sample mask does not compile (a uint is assigned to an int[1]),
    and a multisampled texture that is also bound stays empty. Coverage goes through alpha there and the picture is
    resolved before it is tone-mapped, so very bright outlines are less smooth.
    """
    return not gpu.adapter.backend.startswith("OpenGL")


def color_targets(over: bool, split: bool, display_referred: bool = False) -> list[dict[str, Any]]:
    """The color targets of a pipeline that draws into a `Target`; `over` if it blends, `split` as the target is.

    Each fragment goes to both targets of a split one: it is kept in one and takes away from the other.
    """
    kept = {"format": COLOR, **({"blend": BLEND_OVER} if over else {})}
    if not split:
        return [kept]
    other = {"format": COLOR, "blend": TAKE_AWAY}
    return [other, kept] if display_referred else [kept, other]


def multisample_state(gpu: Gpu, solid: bool) -> dict[str, object]:
    """The multisampling of a pipeline that draws into a `Target`; `solid` if it replaces what was there."""
    by_alpha = solid and not handles_samples(gpu)
    return {"count": SAMPLES, "mask": 0xFFFFFFFF, "alpha_to_coverage_enabled": by_alpha}


def depth_state(write: bool) -> dict[str, object]:
    """The depth test of a pipeline that draws into a `Target`; `write` keeps what it draws in front."""
    return {"format": DEPTH, "depth_write_enabled": write, "depth_compare": "greater"}


class Target:
    """Multisampled color and depth, and the color resolved to one sample (`light`), all of one size in pixels.

    A split one has a second color, `display`, for what goes to the screen as it is: display-referred layers. Light and
    display take away from each other where they are drawn over each other, so their coverages never exceed 1 together.

    `layers_pass` draws everything at once; `solid_pass` and `over_pass` do the same in two parts, and in the second
    `depth` can be read. `picture` is what is tone-mapped: the samples where they can be read, else `light`. Textures
    are dropped, never destroyed, when the size changes: commands recorded with the old ones may still wait for their
    submit, and wgpu frees a texture when the last of them has finished.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self.by_sample = handles_samples(gpu)
        self.size = (0, 0)
        self.split = False

    def resize(self, size: tuple[int, int], split: bool = False) -> bool:
        """Make the textures for `size` unless they have it already; whether they are new."""
        if (size, split) == (self.size, self.split):
            return False
        self.size, self.split = size, split
        drawn, read = wgpu.TextureUsage.RENDER_ATTACHMENT, wgpu.TextureUsage.TEXTURE_BINDING
        sampled = drawn | read if self.by_sample else drawn
        self._samples = self._texture(size, COLOR, sampled, SAMPLES)
        self.depth = self._texture(size, DEPTH, sampled, SAMPLES)
        self.light = self._texture(size, COLOR, drawn | read, 1)
        self.picture = self._samples if self.by_sample else self.light
        self._make_display(sampled)
        self.layers_pass = {resolve: self._layers_pass(resolve) for resolve in (False, True)}
        kept = [{**color, "resolve_target": None, "store_op": "store"} for color in self._colors("clear", False)]
        self.solid_pass = RenderPass(kept, self._depth("store"))
        self.over_pass = {resolve: self._over_pass(resolve) for resolve in (False, True)}
        return True

    def _make_display(self, sampled: int) -> None:
        self._display_samples = self._display = self.display = None
        if not self.split:
            return
        self._display_samples = self._texture(self.size, COLOR, sampled, SAMPLES)
        if not self.by_sample:
            self._display = self._texture(self.size, COLOR, sampled | wgpu.TextureUsage.TEXTURE_BINDING, 1)
        self.display = self._display_samples if self.by_sample else self._display

    def _layers_pass(self, resolve: bool) -> RenderPass:
        return RenderPass(self._colors("clear", resolve), self._depth("discard"))

    def _over_pass(self, resolve: bool) -> RenderPass:
        return RenderPass(self._colors("load", resolve), {"view": self.depth, "depth_read_only": True})

    def _colors(self, load: str, resolve: bool) -> list[dict[str, Any]]:
        light = self._color(self._samples, self.light if resolve or not self.by_sample else None, load)
        if self._display_samples is None:
            return [light]
        return [light, self._color(self._display_samples, self._display, load)]

    def _color(self, view: wgpu.GPUTextureView, resolved: wgpu.GPUTextureView | None, load: str) -> dict[str, Any]:
        return {
            "view": view,
            "resolve_target": resolved,
            "clear_value": (0.0, 0.0, 0.0, 0.0),
            "load_op": load,
            "store_op": "store" if self.by_sample else "discard",
        }

    def _depth(self, store: str) -> dict[str, Any]:
        return {
            "view": self.depth,
            "depth_clear_value": 0.0,
            "depth_load_op": "clear",
            "depth_store_op": store,
        }

    def _texture(self, size: tuple[int, int], format: str, usage: int, samples: int) -> wgpu.GPUTextureView:
        texture = self._gpu.create_texture(
            size=(*size, 1),
            format=format,  # pyright: ignore[reportArgumentType]
            usage=usage,
            sample_count=samples,
        )
        return texture.create_view()
