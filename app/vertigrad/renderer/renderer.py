"""`Renderer`: draws a whole image: the layers as light, then tone-mapped for the screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import wgpu

from ..gpu import Gpu
from .accumulation import Accumulation
from .annotations.annotations import Annotations, has_annotations
from .bloom import Bloom
from .camera import Lens, OrbitCamera
from .deferred import Deferred
from .depth_image import DepthImage, require_depth
from .handles import HandleDrawing, Handles
from .highlight import Highlight, Mark, RowMarks
from .layers.base import Frame, Layer
from .layers.light import area_lights
from .lens import Sample, sampled
from .light_state import state_of
from .lighting import Lighting
from .opacity_map import opacity_camera
from .pipelines import draw_cache
from .post_process import Finish, PostProcess, Source, Viewport
from .quality import Level, drawn_size, level_of
from .target import COLOR, PRECISE, Target, require_precise
from .transparency import Transparency
from .view import View, has_backdrop, sun_in_world
from .view_uniforms import FrameUniforms, view_uniform

UNIFORM_BYTES = 64 << 10  # more than one image pushes; if less is left, the submission before is closed first


class Renderer:
    """Draws images of any size into textures of one format. Records into the open submission, which the caller submits.

    With `transparent` there is no background: pixels have an alpha, and colors that are not multiplied by it. Into a
    format of floats it draws linear light, multiplied by the alpha, without tone mapping; into `target.PRECISE` with
    32 bits all along. With `with_depth` the depth of what was drawn last is there for `draw_depth`. Raises `InputError`
    if the GPU can do neither.
    """

    def __init__(self, gpu: Gpu, color_format: str, transparent: bool = False, with_depth: bool = False):
        if color_format == PRECISE:
            require_precise(gpu)
        if with_depth:
            require_depth(gpu)
        self._gpu = gpu
        self._format = color_format
        self._target = Target(gpu, PRECISE if color_format == PRECISE else COLOR)
        self._depth_image = DepthImage(gpu) if with_depth else None
        self._fine = 1
        self._bloom = Bloom(gpu)
        self._lighting = Lighting(gpu)
        self._transparency: Transparency | None = None
        self._accumulation: Accumulation | None = None
        self._deferred: Deferred | None = None
        self._uniforms = FrameUniforms()
        self._transparent = transparent
        self._post_process = PostProcess(gpu, self._target, self._bloom, color_format, transparent)
        draw_cache(gpu).users.add(self)
        self._backdrop: View | None = None  # of the image that is drawn, if it has one
        self._highlight: Highlight | None = None
        self._handles: HandleDrawing | None = None
        self._annotations: Annotations | None = None
        self._neighbor: Renderer | None = None
        self._state: tuple[object, ...] | None = None  # what the light in the target is of
        self.reused = False  # whether the last image had the light of the one before

    @property
    def neighbor(self) -> Renderer:
        """Another renderer of the same kind, without depth, for a second image in the same frame."""
        if self._neighbor is None:
            self._neighbor = Renderer(self._gpu, self._format, self._transparent)
        return self._neighbor

    @property
    def has_depth(self) -> bool:
        """Whether `draw_depth` works."""
        return self._depth_image is not None

    def draw(
        self,
        layers: Sequence[Layer],
        camera: OrbitCamera,
        view: View,
        target_view: wgpu.GPUTextureView,
        size: tuple[int, int],
        time: float = 0.0,
        corner: tuple[int, int] = (0, 0),
        marks: Sequence[Mark | RowMarks] = (),
        level: Level | None = None,
        handles: Handles | None = None,
        keep: bool = False,
        sample: Sample | None = None,
    ) -> None:
        """Record the image, of `size` pixels, into `target_view`; does nothing if the size is zero.

        `time` is in seconds. `corner` is the pixel of the target for the upper left of the image; the rest of the
        target becomes black, or stays as it is with `keep`. `marks` and `handles` are drawn over the image. `level`
        replaces the level of `view.quality`. With `sample` it is one of several, of the lens and of each pixel: the
        mean of those so far is drawn, or nothing yet. The layers must have been bound. Raises `UseAfterFree` if a
        tensor was closed since.
        """
        if min(size) <= 0:
            return
        gpu, level = self._gpu, level or level_of(view.quality)
        middle = camera
        if sample is not None:
            camera = sampled(middle, view, sample, size[1])
        with gpu.undivided():
            lights = area_lights(layers)
            view_bytes, over_bytes, post_process_bytes = self._uniforms.pack(view, camera, size, time, level, lights)
            split, moment = False, self._uniforms.moment
            for layer in layers:
                layer.prepare(moment)
                split = split or layer.drawing.display_referred
            opacity = self._opacity(layers, view, camera, level)
            notes = self._annotate(layers, middle, view, size) if has_annotations(view, layers) else None
            if not gpu.uniforms.fits(UNIFORM_BYTES):
                gpu.submit()
            drawn = drawn_size(size, level)
            if self._target.resize(drawn, split):
                self._bloom.resize(self._target.light, drawn, level.scale)
                self._transparency = self._accumulation = self._deferred = self._state = None
                self._post_process.resized()
            finish = Finish(
                view.bloom > 0.0,
                view.edges > 0.0,
                drawn[0] < size[0] or drawn[1] < size[1],
                level.fine,
                split,
                view.tone_map,
                sample is not None,
            )
            self._start(finish, layers, bool(lights))
            self._fine = level.fine
            is_moving = sample is not None and sample.moving
            resolve = is_moving or (finish.glow and sample is None)
            keep_depth = is_moving or handles is not None or self._depth_image is not None
            self._lighting.environment.record(view, camera)
            frame = Frame(gpu.uniforms.push(view_bytes), colors=self._target.colors, area_lights=bool(lights))
            self._backdrop = view if has_backdrop(view) and not self._transparent else None
            if sample is not None:
                over_bytes = view_uniform(view, middle, size, time)
            over = frame.view_offset if over_bytes is view_bytes else gpu.uniforms.push(over_bytes)
            if notes is not None:
                notes.push()
            before, self._state = self._state, None
            light = self._uniforms.key, self._lighting.environment.key, keep_depth
            state = state_of(layers, time, gpu.recorder.abandoned, *light) if sample is None else None
            self.reused = state is not None and state == before
            if not self.reused:
                self._lighting.record(layers, frame, view, camera, drawn, self._uniforms.maps, opacity, level)
                self._draw_layers(layers, frame, resolve, notes, keep_depth)
            self._state = state
            source = Source(self._target.image, self._target.display)
            if sample is not None:
                source = self._accumulate(sample, finish.glow, middle, camera.lens, size[0] / size[1])
                if not sample.shown:
                    return
            viewport = Viewport(target_view, corner, size, keep)
            offset = gpu.uniforms.push(post_process_bytes)
            self._post_process.record(finish, source, self._lighting.depths, offset, viewport)
            if notes is not None:
                notes.draw_text(over, corner, target_view)
            if marks:
                self._highlight = self._highlight or Highlight(gpu, self._format)
                self._highlight.record(marks, over, size, corner, target_view)
            if handles is not None:
                self._handles = self._handles or HandleDrawing(gpu, self._format)
                self._handles.record(handles, self._target.depth, size, corner, target_view)

    def draw_depth(self, target_view: wgpu.GPUTextureView) -> None:
        """Record the depth of the image that was drawn last, into a texture of its size and `depth_image.FORMAT`."""
        assert self._depth_image is not None, "a renderer `with_depth` draws it"
        self._depth_image.record(self._target.depth, self._fine, target_view)

    def compile(self) -> None:
        """Create the pipelines; also called after shaders have changed. Raises `ShaderError`."""
        self._post_process.compile()
        self._bloom.compile()
        self._lighting.compile()
        self._accumulation = self._deferred = self._state = None
        if self._transparency is not None:
            self._transparency.compile()

    def _start(self, finish: Finish, layers: Sequence[Layer], area_lights: bool) -> None:
        """Have threads compile what is needed last, while the rest is recorded."""
        self._post_process.start(finish)
        if Deferred.fits(self._target.size) and any([layer.drawing.is_deferred for layer in layers]):
            self._deferred = self._deferred or Deferred(self._gpu, self._target)
            self._deferred.start(area_lights)

    def _opacity(self, layers: Sequence[Layer], view: View, camera: OrbitCamera, level: Level) -> bytes:
        """Pack what receives the shadows of volumes; returns the bytes of `View` to draw their map, if there is one."""
        sun = opacity_camera(layers, camera, sun_in_world(view, camera), level) if view.shadows > 0.0 else None
        return self._uniforms.set_opacity(view, camera, sun, level)

    def _accumulate(self, sample: Sample, glow: bool, camera: OrbitCamera, lens: Lens, aspect: float) -> Source:
        """Add what was drawn with `lens` to the mean of the samples of `camera`; returns that."""
        mean = self._accumulation
        if mean is None or not mean.fits(self._target):
            mean = self._accumulation = Accumulation(self._gpu, self._target)
        clip = camera.clip(aspect)
        if sample.moving and self._target.by_sample:
            mean.reproject(sample.index, clip, (lens.shift_x, lens.shift_y))
        else:
            mean.add(0 if sample.moving else sample.index, clip)
        if glow and sample.shown:
            mean.write_light()
        return Source(mean.light, mean.display)

    def _annotate(self, layers: Sequence[Layer], camera: OrbitCamera, view: View, size: tuple[int, int]) -> Annotations:
        if self._annotations is None:
            self._annotations = Annotations(self._gpu, self._format, self._transparent)
        self._annotations.prepare(layers, camera, view, size)
        return self._annotations

    def _draw_layers(
        self, layers: Sequence[Layer], frame: Frame, resolve: bool, notes: Annotations | None, keep_depth: bool
    ) -> None:
        recorder = self._gpu.recorder
        for layer in layers:
            recorder.use(layer.blocks())
        if notes is not None:
            notes.compute(frame, self._target.size, self._lighting.group)
        if keep_depth or any([layer.drawing.reads_depth or layer.transparency != "none" for layer in layers]):
            self._draw_in_two_passes(layers, frame, resolve, notes)
            return
        others = self._defer(layers, frame)
        with recorder.render_pass("layers", self._target.layers_pass[resolve, len(others) < len(layers)]) as pass_:
            self._draw_solid(pass_, layers, others, frame)
            self._draw_backdrop(pass_, frame)
            if notes is not None:
                notes.draw_lines(pass_, frame)
            for layer in layers:
                layer.drawing.draw_over(pass_, frame)

    def _defer(self, layers: Sequence[Layer], frame: Frame) -> Sequence[Layer]:
        """Draw the layers whose light is computed after all of them are drawn; returns the others."""
        if not Deferred.fits(self._target.size):
            return layers
        deferred = [layer for layer in layers if layer.drawing.is_deferred]
        if deferred:
            self._deferred = self._deferred or Deferred(self._gpu, self._target)
            depths = self._lighting.depths if self._lighting.hides else None
            self._deferred.record(deferred, frame, self._lighting.group, depths)
        return [layer for layer in layers if not layer.drawing.is_deferred]

    def _draw_solid(
        self, pass_: wgpu.GPURenderPassEncoder, layers: Sequence[Layer], others: Sequence[Layer], frame: Frame
    ) -> None:
        """Draw `others` of the layers, and the light of those that were deferred."""
        if len(others) < len(layers) and self._deferred is not None:
            self._deferred.cover(pass_)
        pass_.set_bind_group(1, self._lighting.group)
        for layer in others:
            layer.drawing.draw(pass_, frame)

    def _draw_backdrop(self, pass_: wgpu.GPURenderPassEncoder, frame: Frame) -> None:
        if self._backdrop is not None:
            self._lighting.environment.record_backdrop(pass_, self._backdrop, frame.view_offset, frame.colors)

    def _draw_in_two_passes(
        self, layers: Sequence[Layer], frame: Frame, resolve: bool, notes: Annotations | None
    ) -> None:
        """The same in two passes: in the second, layers can read the depth of opaque objects."""
        recorder, target = self._gpu.recorder, self._target
        over = replace(frame, depth=target.depth, image=target.image, lighting=self._lighting.group)
        surveying = [layer for layer in layers if layer.drawing.surveys]
        for layer in surveying:
            layer.drawing.survey(over)
        solid = [layer for layer in layers if layer.transparency != "all"]
        others = self._defer(solid, over)
        with recorder.render_pass("layers", target.solid_pass[len(others) < len(solid)]) as pass_:
            self._draw_solid(pass_, solid, others, frame)
            self._draw_backdrop(pass_, frame)
        for layer in layers:
            if layer.drawing.refracts:
                layer.drawing.refract(over)
                with recorder.render_pass("layers", target.refracted_pass) as pass_:
                    layer.drawing.draw_refracted(pass_, over)
        for layer in surveying:
            layer.drawing.gather(replace(over, lighting=self._lighting.group_of(layer.drawing)))
        clear = [layer for layer in layers if layer.transparency != "none"]
        if clear:
            self._transparency = self._transparency or Transparency(self._gpu, target)
            self._transparency.record(clear, frame, self._lighting.group)
        with recorder.render_pass("layers", target.over_pass[resolve]) as pass_:
            if clear and self._transparency is not None:
                self._transparency.cover(pass_)
            pass_.set_bind_group(1, self._lighting.group)
            if notes is not None:
                notes.draw_lines(pass_, over)
            for layer in layers:
                layer.drawing.draw_over(pass_, over)
