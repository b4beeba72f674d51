"""`Lighting`: shadow maps and ambient occlusion, computed before an image is drawn and bound for its layers."""

from __future__ import annotations

from collections.abc import Sequence

import wgpu

from ..gpu import Gpu, RenderPass
from .bindings import bind_group, lighting_layout
from .camera import OrbitCamera
from .environment import Environment
from .layers.base import Frame, Layer
from .layers.drawing import Drawing
from .lobes import lobes
from .occlusion import Occlusion
from .opacity_map import OpacityMap, OpacityMaps, map_texels
from .quality import HIGH, Level
from .sun import shadow_texels
from .target import DEPTH, create_view
from .view import View, has_occlusion


class Depths:
    """A texture of depth of `size` pixels, or an array of so many `maps`. Depth is reversed.

    `view` is bound, all of an array.
    """

    def __init__(self, gpu: Gpu, size: tuple[int, int], maps: int = 0):
        self._gpu = gpu
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING
        texture = gpu.create_texture(size=(*size, max(maps, 1)), format=DEPTH, usage=usage)
        self.view = texture.create_view(dimension="2d-array" if maps else "2d")
        drawn = [texture.create_view(dimension="2d", base_array_layer=n, array_layer_count=1) for n in range(maps)]
        clear = {"depth_clear_value": 0.0, "depth_load_op": "clear", "depth_store_op": "store"}
        self._passes = [RenderPass([], {"view": view, **clear}) for view in drawn or [self.view]]

    def record(self, group: str, layers: Sequence[Layer], view_offset: int, number: int = 0) -> None:
        """Record a depth pass of the opaque parts of `layers` into one of the maps, timed under `group`.

        Layers without any draw their shade.
        """
        frame = Frame(view_offset, drawn="depth")
        with self._gpu.recorder.render_pass(group, self._passes[number]) as pass_:
            for layer in layers:
                if layer.casts:
                    layer.drawing.draw(pass_, frame)
                else:
                    layer.drawing.draw_shade(pass_, frame)


class Lighting:
    """Draws the shadow maps and computes the ambient occlusion, each only where it is needed.

    `group` is bound at group 1 of pipelines that light their fragments (shaders/common/shadows.wgsl); `depths` is the
    depth of opaque objects, one sample per pixel, or a single empty texel; `hides` whether nothing is seen behind that.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._layout = lighting_layout(gpu)
        self._sampler = gpu.device.create_sampler(mag_filter="linear", min_filter="linear", compare="greater-equal")
        self._nothing, self._no_maps = Depths(gpu, (1, 1)), Depths(gpu, (1, 1), 1)
        self._no_occlusion = create_view(gpu, (1, 1), "rg16float", wgpu.TextureUsage.TEXTURE_BINDING)
        self._maps: Depths | None = None
        self._maps_size = (0, 0)  # texels along a side, and how many maps
        self._eye: Depths | None = None
        self._lobes = lobes(gpu)
        self._no_opacity = OpacityMap(gpu, 1)
        self._opacity: OpacityMaps | None = None
        self._own: dict[Drawing, wgpu.GPUBindGroup] = {}
        self._occlusion: Occlusion | None = None
        self._groups: dict[tuple[int, ...], wgpu.GPUBindGroup] = {}
        self.environment = Environment(gpu)
        self._level, self._size = HIGH, (0, 0)
        self.group = self._group(False, False, False, -1)
        self.depths, self.hides = self._nothing.view, True

    def compile(self) -> None:
        """Get the pipelines from the cache, after shaders have changed."""
        if self._occlusion is not None:
            self._occlusion.compile()
        self.environment.compile()
        self._groups.clear()

    def record(
        self,
        layers: Sequence[Layer],
        frame: Frame,
        view: View,
        camera: OrbitCamera,
        size: tuple[int, int],
        maps: Sequence[bytes],
        opacity: bytes,
        level: Level = HIGH,
    ) -> None:
        """Record the passes that the next image of `layers` needs, at this quality level; sets `group` and `depths`.

        That of the `environment` is recorded before. `size` is in pixels that are drawn; `maps` has the bytes of `View`
        for each shadow map, `opacity` those for the map of optical depths, if there is one.
        """
        self.depths = self._nothing.view
        if (level, size) != (self._level, self._size):
            self._take(level, size)
        casting = [layer for layer in layers if layer.casts_shadow]
        shaded, occluded = bool(maps and casting), has_occlusion(view, level)
        if shaded:
            self._record_maps(casting, maps, shadow_texels(view.shadow_resolution, size[1], level))
        numbers = self._record_opacity(layers, opacity, map_texels(layers, level)) if opacity else {}
        if occluded or view.edges > 0.0:
            self._eye = self._eye or Depths(self._gpu, size)
            self.depths = self._eye.view
            solid = [layer for layer in layers if layer.casts and layer.transparency != "all"]
            if view.edges <= 0.0:
                solid = [layer for layer in solid if layer.drawing.occludes]
            self.hides = not any([layer.drawing.refracts for layer in solid])
            self._eye.record("depths", solid, frame.view_offset)
            if occluded:
                self._occlusion = self._occlusion or Occlusion(self._gpu, self._eye.view, size, level)
                self._occlusion.record(frame.view_offset)
        needed = shaded, occluded, self.environment.is_used
        self.group = self._group(*needed, 0 if opacity else -1)
        self._own = {drawing: self._group(*needed, number) for drawing, number in numbers.items()}

    def group_of(self, drawing: Drawing) -> wgpu.GPUBindGroup:
        """`group` for a drawing that computes its own shadow in itself: without that in the map of optical depths."""
        return self._own.get(drawing, self.group)

    def _record_maps(self, casting: Sequence[Layer], maps: Sequence[bytes], texels: int) -> None:
        if self._maps is None or (texels, len(maps)) != self._maps_size:
            self._maps, self._maps_size = Depths(self._gpu, (texels, texels), len(maps)), (texels, len(maps))
            self._groups.clear()
        for number, view in enumerate(maps):
            self._maps.record("shadows", casting, self._gpu.uniforms.push(view), number)

    def _record_opacity(self, layers: Sequence[Layer], view: bytes, texels: int) -> dict[Drawing, int]:
        if self._opacity is None or self._opacity.texels != texels:
            self._opacity = OpacityMaps(self._gpu, texels)
            self._groups.clear()
        return self._opacity.record(layers, view)

    def _take(self, level: Level, size: tuple[int, int]) -> None:
        """Drop textures of another level or size; they are recreated when they are needed."""
        if size != self._size:
            self._eye = None
        self._occlusion = None
        self._level, self._size = level, size
        self._groups.clear()

    def _group(self, shaded: bool, occluded: bool, surrounded: bool, opacity: int) -> wgpu.GPUBindGroup:
        """With the maps that are needed, and one of the maps of optical depths, -1 for none."""
        needed = shaded, occluded, surrounded, opacity
        if needed not in self._groups:
            maps = self._maps if shaded and self._maps is not None else self._no_maps
            sky = self._occlusion.visibility if occluded and self._occlusion is not None else self._no_occlusion
            depths = (
                self._opacity.view(opacity) if opacity >= 0 and self._opacity is not None else self._no_opacity.view
            )
            self._groups[needed] = bind_group(
                self._gpu,
                self._layout,
                (maps.view, self._sampler, sky, *self.environment.resources, depths, self._lobes),
            )
        return self._groups[needed]
