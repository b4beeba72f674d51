"""`Target`: the textures that an image is drawn into before it is tone-mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import wgpu

from ..errors import InputError
from ..gpu import Gpu, RenderPass

SAMPLES = 4
COLOR = "rgba16float"  # linear light, or what a screen shows, premultiplied by coverage
PRECISE = "rgba32float"  # the same for files of 32-bit floats
OPACITY = "rgba16float"  # optical depths along the sun: renderer/opacity_map.py
WEIGHED, THROUGH = "rgba16float", "r16float"  # of what is transparent: shaders/common/transparency.wgsl
GBUFFER = "rgba16uint", "rg16uint"  # of surfaces that are lit later: shaders/common/pixel.wgsl
DEPTH = "depth32float"  # reversed: 1 at the near plane, cleared to 0
ROW, CORNERS = "rgba32uint", "rg32uint"  # when picking, of `PickPixel` in shaders/common/pick_pixel.wgsl
ROW_BYTES, CORNERS_BYTES = 16, 8  # of a pixel
PRECISE_FEATURES = ("float32-blendable", "float32-filterable", "texture-adapter-specific-format-features")
LEAST_ALPHA = 0.125  # fragments with a smaller alpha cannot be picked

# "color"; "depth": of solid things, one sample per pixel; "opacity": optical depths along the sun; "clear": what is
# transparent; "rows": rows instead of colors; "gbuffer": what opaque surfaces are made of;
# "soft": what blends and has no outlines, in one sample per pixel
Drawn = Literal["color", "depth", "opacity", "clear", "rows", "gbuffer", "soft"]

_ADDED = {"src_factor": "one", "dst_factor": "one", "operation": "add"}
_MULTIPLIED = {"src_factor": "zero", "dst_factor": "src", "operation": "add"}
_OVER = {"src_factor": "one", "dst_factor": "one-minus-src-alpha", "operation": "add"}
_TAKEN = {"src_factor": "zero", "dst_factor": "one-minus-src-alpha", "operation": "add"}
BLEND_OVER = {"color": _OVER, "alpha": _OVER}  # of premultiplied colors
TAKE_AWAY = {"color": _TAKEN, "alpha": _TAKEN}  # multiplies the target by 1 - alpha
CLEAR_TARGETS: tuple[dict[str, Any], ...] = (
    {"format": WEIGHED, "blend": {"color": _ADDED, "alpha": _ADDED}},
    {"format": THROUGH, "blend": {"color": _MULTIPLIED, "alpha": _MULTIPLIED}},
)
OPACITY_TARGETS: tuple[dict[str, Any], ...] = ({"format": OPACITY, "blend": {"color": _ADDED, "alpha": _ADDED}},) * 3
ROW_TARGETS: tuple[dict[str, Any], ...] = ({"format": ROW}, {"format": CORNERS})
NO_DEPTH_TEST: Mapping[str, Any] = {"format": DEPTH, "depth_write_enabled": False, "depth_compare": "always"}


def handles_samples(gpu: Gpu) -> bool:
    """Whether shaders may choose the samples that they cover, and read samples one by one.

    Through OpenGL they may not with wgpu-native 29: a sample mask does not compile (a uint is assigned to an int[1]),
    and a multisampled texture that is also bound stays empty. Coverage goes through alpha there and the image is
    resolved before it is tone-mapped, so very bright outlines are less smooth.
    """
    return not gpu.adapter.backend.startswith("OpenGL")


class Colors(NamedTuple):
    """The color textures of a `Target`: whether there is a second one for display-referred colors, and their format."""

    split: bool = False
    format: str = COLOR


ONE_COLOR = Colors()


def require_precise(gpu: Gpu) -> None:
    """Raise `InputError` if this GPU cannot draw into `PRECISE` textures."""
    missing = [name for name in PRECISE_FEATURES if name not in gpu.features]
    if missing or not handles_samples(gpu):
        reason = f"it has no {', '.join(missing)}" if missing else "OpenGL does not read samples one by one"
        raise InputError(f"{gpu.adapter} cannot draw images of 32-bit floats: {reason}; write 16-bit ones")


def color_targets(over: bool, colors: Colors, display_referred: bool = False) -> list[dict[str, Any]]:
    """The color targets of a pipeline that draws into the `colors` of a `Target`; `over` if it blends.

    Each fragment goes to both targets of a split one: it is drawn into one and takes away from the other.
    """
    own = {"format": colors.format, **({"blend": BLEND_OVER} if over else {})}
    if not colors.split:
        return [own]
    other = {"format": colors.format, "blend": TAKE_AWAY}
    return [other, own] if display_referred else [own, other]


class PassStates(NamedTuple):
    """The part of a pipeline that depends on the pass that it draws in."""

    targets: Sequence[Mapping[str, Any]]
    depth: Mapping[str, Any] | None
    multisample: Mapping[str, Any]


def pass_states(
    gpu: Gpu, drawn: Drawn, over: bool, colors: Colors = ONE_COLOR, display_referred: bool = False
) -> PassStates:
    """The states of a pipeline that draws what is `drawn`; the other arguments are those of `color_targets`."""
    if drawn == "opacity":
        return PassStates(OPACITY_TARGETS, None, {"count": 1})
    if drawn in ("depth", "rows"):
        return PassStates(ROW_TARGETS if drawn == "rows" else (), _depth_state(write=True), {"count": 1})
    over = over or drawn == "clear"
    if drawn == "soft":
        return PassStates([{"format": colors.format, "blend": BLEND_OVER}], None, {"count": 1})
    if drawn == "gbuffer":
        return PassStates([{"format": format} for format in GBUFFER], _depth_state(write=True), {"count": SAMPLES})
    targets = CLEAR_TARGETS if drawn == "clear" else color_targets(over, colors, display_referred)
    by_alpha = not (over or handles_samples(gpu))
    samples = {"count": SAMPLES, "mask": 0xFFFFFFFF, "alpha_to_coverage_enabled": by_alpha}
    return PassStates(targets, _depth_state(write=not over), samples)


def cover_states(gpu: Gpu, colors: Colors) -> PassStates:
    """The states of a pipeline that blends over a whole target, without a depth test."""
    return pass_states(gpu, "color", over=True, colors=colors)._replace(depth=NO_DEPTH_TEST)


def _depth_state(write: bool) -> dict[str, object]:
    return {"format": DEPTH, "depth_write_enabled": write, "depth_compare": "greater"}


def create_view(
    gpu: Gpu, size: tuple[int, ...], format: str, usage: int | None = None, samples: int = 1
) -> wgpu.GPUTextureView:
    """A new texture of `size` pixels that is drawn into and read, or of another usage."""
    texture = gpu.create_texture(
        size=(*size, 1),  # pyright: ignore[reportArgumentType]
        format=format,  # pyright: ignore[reportArgumentType]
        usage=wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING if usage is None else usage,
        sample_count=samples,
    )
    return texture.create_view()


class Target:
    """Multisampled color and depth, and the color resolved to one sample (`light`), all of one size in pixels.

    A split one has a second color, `display`, for display-referred layers, which are not tone-mapped. What is drawn
    into one of the two attenuates the other, so the sum of their coverages is at most 1.

    `layers_pass` draws everything in one pass; `solid_pass` and `over_pass` do the same in two, and in the second one
    `depth` can be read. The first two can keep the depth of a G-buffer (`Deferred`). `refracted_pass` draws more opaque
    surfaces in between. `image` is the input of tone mapping: the samples where they can be read, else `light`.
    Textures are dropped, never destroyed, when the size changes: commands recorded with the old ones may still wait
    for their submit, and wgpu frees a texture when the last of them has finished.
    """

    def __init__(self, gpu: Gpu, format: str = COLOR):
        self._gpu = gpu
        self.by_sample = handles_samples(gpu)
        self.size = (0, 0)
        self.colors = Colors(False, format)

    def resize(self, size: tuple[int, int], split: bool = False) -> bool:
        """Make the textures for `size` unless they have it already; whether they are new."""
        colors = self.colors._replace(split=split)
        if (size, colors) == (self.size, self.colors):
            return False
        self.size, self.colors = size, colors
        drawn, bound = wgpu.TextureUsage.RENDER_ATTACHMENT, wgpu.TextureUsage.TEXTURE_BINDING
        sampled = drawn | bound if self.by_sample else drawn
        self._samples = create_view(self._gpu, size, colors.format, sampled, SAMPLES)
        self.depth = create_view(self._gpu, size, DEPTH, sampled, SAMPLES)
        self.light = create_view(self._gpu, size, colors.format, drawn | bound, 1)
        self.image = self._samples if self.by_sample else self.light
        self._make_display(sampled)
        depth = {"view": self.depth, "depth_clear_value": 0.0, "depth_load_op": "clear"}
        unread, stored = {**depth, "depth_store_op": "discard"}, {**depth, "depth_store_op": "store"}
        read = {"view": self.depth, "depth_read_only": True}
        more = {"view": self.depth, "depth_load_op": "load", "depth_store_op": "store"}
        self.layers_pass = {}
        self.solid_pass = {}
        for deferred, keep in ((False, {}), (True, {"depth_load_op": "load"})):
            for resolve in (False, True):
                self.layers_pass[resolve, deferred] = RenderPass(self._first_colors(deferred, resolve), unread | keep)
            self.solid_pass[deferred] = RenderPass(_unresolved(self._first_colors(deferred, False)), stored | keep)
        self.refracted_pass = RenderPass(_unresolved(self._colors("load", False)), more)
        self.over_pass = {resolve: RenderPass(self._colors("load", resolve), read) for resolve in (False, True)}
        return True

    def _make_display(self, sampled: int) -> None:
        self._display_samples = self._display = self.display = None
        split, format = self.colors
        if not split:
            return
        self._display_samples = create_view(self._gpu, self.size, format, sampled, SAMPLES)
        if not self.by_sample:
            self._display = create_view(self._gpu, self.size, format, sampled | wgpu.TextureUsage.TEXTURE_BINDING, 1)
        self.display = self._display_samples if self.by_sample else self._display

    def _first_colors(self, deferred: bool, resolve: bool) -> list[dict[str, Any]]:
        """Those of the first pass: the light of deferred shading is written to all samples, so they need no clear."""
        light, *display = self._colors("clear", resolve)
        return [light | ({"load_op": "load"} if deferred else {}), *display]

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


def _unresolved(colors: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**color, "resolve_target": None, "store_op": "store"} for color in colors]
