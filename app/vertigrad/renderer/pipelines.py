"""Render pipelines, made once for what they depend on and shared by all layers of a device."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import wgpu

from ..errors import ShaderError
from ..gpu import Gpu, shader

REMEMBERED = 128  # of each kind of object, for each device

T = TypeVar("T")


class DrawCache:
    """Shader modules, pipelines, samplers and colormap textures of one device, the least recently used dropped."""

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` returned the first time that `key` was asked for."""
        if key not in self._made:
            self._made[key] = make()
            if len(self._made) > REMEMBERED:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    def __len__(self) -> int:
        return len(self._made)


_caches: WeakKeyDictionary[Gpu, DrawCache] = WeakKeyDictionary()


def draw_cache(gpu: Gpu) -> DrawCache:
    """The cache that belongs to `gpu`."""
    return _caches.setdefault(gpu, DrawCache())


def draw_shader(gpu: Gpu, path: str, defines: Mapping[str, Any]) -> wgpu.GPUShaderModule:
    """The shader file `path` below `shaders/`, compiled. Raises `ShaderError` with the compiler's message."""

    def make() -> wgpu.GPUShaderModule:
        try:
            return gpu.device.create_shader_module(label=path, code=shader.render(path, defines))
        except wgpu.GPUError as error:
            raise ShaderError(f"shaders/{path}: {error}") from error

    return draw_cache(gpu).get(("module", path, tuple(sorted(defines.items()))), make)


def smooth_sampler(gpu: Gpu) -> wgpu.GPUSampler:
    """Linear between texels, the edge's colour beyond it."""
    return draw_cache(gpu).get(
        "smooth sampler", lambda: gpu.device.create_sampler(mag_filter="linear", min_filter="linear")
    )


def fullscreen_pipeline(
    gpu: Gpu,
    path: str,
    entry: str,
    target: str,
    layout: wgpu.GPUBindGroupLayout,
    *,
    defines: Mapping[str, Any] | None = None,
    blend: Mapping[str, Any] | None = None,
) -> wgpu.GPURenderPipeline:
    """A pass over the whole target with format `target`, whose fragment shader is `entry` of the file `path`."""

    def make() -> wgpu.GPURenderPipeline:
        module = draw_shader(gpu, path, defines or {})
        return gpu.device.create_render_pipeline(
            label=f"{path}:{entry}",
            layout=gpu.device.create_pipeline_layout(bind_group_layouts=[layout]),
            vertex={"module": module, "entry_point": "fullscreen_vertex"},
            fragment={
                "module": module,
                "entry_point": entry,
                "targets": [{"format": target, **({"blend": blend} if blend else {})}],
            },
        )

    return draw_cache(gpu).get((path, entry, target, tuple((defines or {}).items())), make)
