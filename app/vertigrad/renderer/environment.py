"""`Environment`: light from around from an image or a model of the sky, as maps for shaders/common/environment.wgsl."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import wgpu

from ..gpu import Direction, Gpu, RenderPass, Traffic
from ..params.color_space import linear
from . import environment_image
from .bindings import FRAGMENT, bind_group, bind_group_layout, lighting_layout, uniform_range
from .camera import OrbitCamera
from .pipelines import fullscreen_pipeline, render_pipeline, smooth_sampler
from .sky import transmittance
from .target import DEPTH, Colors, create_view, pass_states
from .view import View, sun_in_world
from .view_uniforms import VIEW_SIZE

SHADER = "draw/environment_maps.wgsl"
FORMAT, TABLE_FORMAT = "rgba16float", "rg16float"
PARTS = "table", "shrink", "prefilter", "irradiance"  # of the maps, after the sky or the image
SIDE = 256  # pixels of a face of the radiance, and of the sharpest specular map
SOFTWARE_SIDE = 128
LEVELS = 6  # of the specular map: roughness 0 to 1
IRRADIANCE_SIDE = 16
TABLE_SIDE = 32
FACE = struct.Struct("<If2f3ff3ff")  # `Face` in the shader
GRADIENT, SKY, IMAGE = "gradient", "sky", "image"  # of `View.environment`
BEHIND = {"format": DEPTH, "depth_write_enabled": False, "depth_compare": "greater-equal"}
_ONE = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.TEXTURE_BINDING


class Cube:
    """A cube texture, empty when created, of which each level of each face can be drawn into."""

    def __init__(self, gpu: Gpu, side: int, levels: int):
        self._gpu, self.side, self.levels = gpu, side, levels
        self._texture = gpu.create_texture(size=(side, side, 6), format=FORMAT, usage=_ONE, mip_level_count=levels)
        self.view = self._texture.create_view(dimension="cube")

    def face(self, number: int, level: int) -> wgpu.GPUTextureView:
        """One level of one face."""
        return self._texture.create_view(
            dimension="2d", base_array_layer=number, array_layer_count=1, base_mip_level=level, mip_level_count=1
        )


class Environment:
    """The maps of the light from around; they are recomputed when what they depend on has changed.

    `resources` are bound after those of shadows and occlusion; without an environment they are empty maps.
    """

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._none = Cube(gpu, 1, 1)
        self._no_table = create_view(gpu, (1, 1), "rg16float")
        sampler = gpu.device.create_sampler(mag_filter="linear", min_filter="linear", mipmap_filter="linear")
        self._sampler = sampler
        self._maps: tuple[Cube, Cube, Cube, wgpu.GPUTextureView] | None = None
        self._key: tuple[object, ...] = ()
        self._has_table = False
        self._image: wgpu.GPUTextureView | None = None  # in full, for the backdrop
        self._loaded: tuple[object, ...] = ()  # the file in it, and when it was written
        self._face = b""

    @property
    def resources(self) -> Sequence[Any]:
        """What is bound at group 1, from binding 3 on."""
        if self._maps is None or not self._key:
            return self._none.view, self._none.view, self._no_table, self._sampler
        _, specular, irradiance, table = self._maps
        return specular.view, irradiance.view, table, self._sampler

    @property
    def key(self) -> tuple[object, ...]:
        """What the maps are of; empty if there are none."""
        return self._key

    @property
    def is_used(self) -> bool:
        """Whether `resources` are those of an environment."""
        return bool(self._key)

    def compile(self) -> None:
        """Recompute the maps before the next image, after shaders have changed."""
        self._forget()
        self._maps = None

    def record(self, view: View, camera: OrbitCamera) -> None:
        """Record the passes that compute the maps, if the view has another environment than before.

        Raises `InputError` for an image that cannot be read.
        """
        if view.environment == GRADIENT:
            self._key = ()
            return
        sun = _with_y_up(sun_in_world(view, camera), camera)
        turn = math.radians(view.environment_rotation)
        if view.environment == IMAGE:
            file = view.environment_file
            key: tuple[object, ...] = (file, file.stat().st_mtime_ns if file.exists() else 0, turn)
        else:
            key = (*sun, view.sun, *view.ground_color)
        if key == self._key and self._maps is not None:
            return
        self._face = _uniform(view, sun, turn)
        source = self._load(view.environment_file, key[:2]) if view.environment == IMAGE else None
        self._key = ()  # until all is recorded
        self._compute(source)
        self._key = key
        self._gpu.recorder.if_dropped(self._forget)

    def record_backdrop(self, pass_: wgpu.GPURenderPassEncoder, view: View, view_offset: int, colors: Colors) -> None:
        """Draw the environment behind everything that was drawn in this pass of layers."""
        gpu, is_image = self._gpu, view.environment == IMAGE and self._image is not None
        kinds = ("uniform", "uniform", "texture", "sampler")
        layout = bind_group_layout(gpu, kinds, FRAGMENT)
        states = pass_states(gpu, "color", over=False, colors=colors)
        pipeline = render_pipeline(
            gpu,
            SHADER,
            ("fullscreen_vertex", "backdrop_fragment"),
            [layout, lighting_layout(gpu)],
            states.targets,
            defines={"PART": "backdrop", "IMAGE": is_image},
            depth=BEHIND,
            multisample=states.multisample,
        )
        image = self._image if is_image and self._image is not None else self._no_table
        uniforms = uniform_range(gpu, FACE.size), uniform_range(gpu, VIEW_SIZE)
        group = bind_group(gpu, layout, (*uniforms, image, smooth_sampler(gpu)))
        face = bytearray(self._face)
        struct.pack_into("<f", face, FACE.size - 4, view.environment_blur)
        pass_.set_pipeline(pipeline)
        pass_.set_bind_group(0, group, (gpu.uniforms.push(face), view_offset))
        pass_.draw(3)

    def _load(self, file: Path, written: tuple[object, ...]) -> wgpu.GPUTextureView:
        """The image in full for the backdrop; returns the smaller one for the maps."""
        image = environment_image.read(file)
        if written != self._loaded:
            self._image, self._loaded = _uploaded(self._gpu, image), written
        return _uploaded(self._gpu, environment_image.smaller(image))

    def _forget(self) -> None:
        """Record all again."""
        self._key, self._has_table = (), False

    def _compute(self, image: wgpu.GPUTextureView | None) -> None:
        for part in ("sky" if image is None else "image", *PARTS):
            self._pipeline(part)  # threads compile all of them
        if self._maps is None:
            side = SOFTWARE_SIDE if self._gpu.adapter.kind == "software" else SIDE
            cubes = Cube(self._gpu, side, side.bit_length()), Cube(self._gpu, side, LEVELS)
            table = create_view(self._gpu, (TABLE_SIDE, TABLE_SIDE), "rg16float")
            self._maps = *cubes, Cube(self._gpu, IRRADIANCE_SIDE, 1), table
        radiance, specular, irradiance, table = self._maps
        if not self._has_table:
            self._draw("table", None, table, TABLE_SIDE)
        for number in range(6):
            part = "sky" if image is None else "image"
            self._draw(part, image, radiance.face(number, 0), radiance.side, number)
            for level in range(1, radiance.levels):
                self._draw("shrink", radiance.face(number, level - 1), radiance.face(number, level), 1, number)
        for number in range(6):
            for level in range(LEVELS):
                roughness, into = max(level / (LEVELS - 1), 0.02), specular.face(number, level)
                if level:
                    self._draw("prefilter", radiance.view, into, specular.side >> level, number, roughness)
                else:
                    self._draw("shrink", radiance.face(number, 0), into, specular.side, number)
            self._draw("irradiance", radiance.view, irradiance.face(number, 0), irradiance.side, number)
        self._has_table = True

    def _draw(
        self,
        part: str,
        source: wgpu.GPUTextureView | None,
        into: wgpu.GPUTextureView,
        size: int,
        number: int = 0,
        roughness: float = 0.0,
    ) -> None:
        gpu, (pipeline, layout) = self._gpu, self._pipeline(part)
        resources: dict[int, Any] = {0: uniform_range(gpu, FACE.size)}
        if source is not None:
            resources |= {1: source, 2: self._sampler}
        face = bytearray(self._face)
        struct.pack_into("<Iff", face, 0, number, float(size), roughness)
        described = RenderPass([{"view": into, "load_op": "clear", "store_op": "store"}])
        group, offset = bind_group(gpu, layout, resources), gpu.uniforms.push(face)
        with gpu.recorder.render_pass("environment", described) as pass_:
            pass_.set_pipeline(pipeline)
            pass_.set_bind_group(0, group, (offset,))
            pass_.draw(3)

    def _pipeline(self, part: str) -> tuple[wgpu.GPURenderPipeline, wgpu.GPUBindGroupLayout]:
        """The pipeline of a part of the maps, and the layout of what it reads."""
        source = {"table": None, "sky": None, "prefilter": "cube", "irradiance": "cube"}.get(part, "texture")
        kinds = {0: "uniform"} if source is None else {0: "uniform", 1: source, 2: "sampler"}
        layout = bind_group_layout(self._gpu, kinds, FRAGMENT)
        defines, format = {"PART": part, "IMAGE": False}, TABLE_FORMAT if part == "table" else FORMAT
        targets = [{"format": format}]
        pipeline = fullscreen_pipeline(self._gpu, SHADER, f"{part}_fragment", layout, targets, defines=defines)
        return pipeline, layout


def panorama(gpu: Gpu, view: View, camera: OrbitCamera, rows: int) -> np.ndarray:
    """The sky of a view, "sky" as its `environment`, as an equirectangular image f32 (rows, 2 * rows, 3).

    It is the radiance for each unit of `view.sky`, with the up axis of the camera up. Waits for the GPU.
    """
    size = (2 * rows, rows)
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.create_texture(size=(*size, 1), format=FORMAT, usage=usage)
    layout = bind_group_layout(gpu, {0: "uniform"}, FRAGMENT)
    defines = {"PART": "panorama", "IMAGE": False}
    pipeline = fullscreen_pipeline(gpu, SHADER, "panorama_fragment", layout, [{"format": FORMAT}], defines=defines)
    group = bind_group(gpu, layout, {0: uniform_range(gpu, FACE.size)})
    offset = gpu.uniforms.push(_uniform(view, _with_y_up(sun_in_world(view, camera), camera), 0.0))
    described = RenderPass([{"view": texture.create_view(), "load_op": "clear", "store_op": "store"}])
    with gpu.recorder.render_pass("environment", described) as pass_:
        pass_.set_pipeline(pipeline)
        pass_.set_bind_group(0, group, (offset,))
        pass_.draw(3)
    row_bytes, found = 8 * size[0], list[np.ndarray]()
    gpu.meter.count(Direction.DEVICE_TO_HOST, row_bytes * rows, Traffic.DIAGNOSTICS)
    reading = gpu.readback.copy_texture(
        gpu.recorder.encoder, texture, row_bytes, lambda data: found.append(np.frombuffer(data, np.float16).copy())
    )
    gpu.submit()
    gpu.readback.wait(reading)
    return found[0].reshape(rows, size[0], 4)[..., :3].astype(np.float32)


def _uniform(view: View, sun: tuple[float, ...], turn: float) -> bytes:
    """`Face`, but for the number, size and roughness."""
    irradiance = math.pi * view.sun / float(np.mean(transmittance(90.0)))
    return FACE.pack(0, 0.0, 0.0, turn, *sun, irradiance, *linear(view.ground_color), 0.0)


def _with_y_up(direction: np.ndarray, camera: OrbitCamera) -> tuple[float, ...]:
    """A direction of the world in that of the maps, as `to_environment` of the shader has it."""
    x, y, z = (float(c) for c in direction)
    return (x, z, -y) if camera.up == "z" else (x, y, z)


def _uploaded(gpu: Gpu, image: np.ndarray) -> wgpu.GPUTextureView:
    """A texture of half floats."""
    rows, columns = image.shape[:2]
    usage = wgpu.TextureUsage.TEXTURE_BINDING | wgpu.TextureUsage.COPY_DST
    texture = gpu.create_texture(size=(columns, rows, 1), format=FORMAT, usage=usage)
    pixels = np.ones((rows, columns, 4), np.float16)
    pixels[..., :3] = image
    gpu.queue.write_texture(
        {"texture": texture}, pixels, {"bytes_per_row": 8 * columns, "rows_per_image": rows}, (columns, rows, 1)
    )
    return texture.create_view()
