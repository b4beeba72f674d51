"""Bind group layouts by the kinds of their resources, and bind groups that follow tensors whose block changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import wgpu

from ..gpu import Gpu
from .pipelines import draw_cache

BOTH = wgpu.ShaderStage.VERTEX | wgpu.ShaderStage.FRAGMENT
FRAGMENT, COMPUTE = wgpu.ShaderStage.FRAGMENT, wgpu.ShaderStage.COMPUTE
CACHED = 4  # sets of blocks with bind groups: outputs that are drawn while the next are computed alternate

KINDS: Mapping[str, dict[str, Any]] = {
    "uniform": {"buffer": {"type": "uniform", "has_dynamic_offset": True}},
    "storage": {"buffer": {"type": "read-only-storage"}},
    "written": {"buffer": {"type": "storage"}},
    "texture": {"texture": {"sample_type": "float"}},
    "cube": {"texture": {"sample_type": "float", "view_dimension": "cube"}},
    "textures": {"texture": {"sample_type": "float", "view_dimension": "2d-array"}},
    "unfilterable": {"texture": {"sample_type": "unfilterable-float"}},
    "samples": {"texture": {"sample_type": "unfilterable-float", "multisampled": True}},
    "integer samples": {"texture": {"sample_type": "uint", "multisampled": True}},
    "unfilterable textures": {"texture": {"sample_type": "unfilterable-float", "view_dimension": "2d-array"}},
    "depth": {"texture": {"sample_type": "depth"}},
    "depths": {"texture": {"sample_type": "depth", "view_dimension": "2d-array"}},
    "depth samples": {"texture": {"sample_type": "depth", "multisampled": True}},
    "stored distances": {"storage_texture": {"access": "write-only", "format": "r32float"}},
    "stored pairs": {"storage_texture": {"access": "write-only", "format": "rg32float"}},
    "stored light": {"storage_texture": {"access": "write-only", "format": "rgba16float"}},
    "stored": {"storage_texture": {"access": "write-only", "format": "rgba32float"}},
    "stored layers": {
        "storage_texture": {"access": "write-only", "format": "rgba16float", "view_dimension": "2d-array"}
    },
    "precise stored layers": {
        "storage_texture": {"access": "write-only", "format": "rgba32float", "view_dimension": "2d-array"}
    },
    "sampler": {"sampler": {"type": "filtering"}},
    "comparison": {"sampler": {"type": "comparison"}},
}


def bind_group_layout(
    gpu: Gpu, kinds: Sequence[str] | Mapping[int, str], visibility: int = BOTH
) -> wgpu.GPUBindGroupLayout:
    """The layout with one of `KINDS` at each binding; a sequence counts from 0. Created once for each device."""
    numbered = tuple(kinds.items() if isinstance(kinds, Mapping) else enumerate(kinds))
    entries: list[Any] = [{"binding": n, "visibility": visibility, **KINDS[kind]} for n, kind in numbered]
    return draw_cache(gpu).get(
        ("bind group layout", visibility, numbered), lambda: gpu.device.create_bind_group_layout(entries=entries)
    )


def bind_group(
    gpu: Gpu, layout: wgpu.GPUBindGroupLayout, resources: Sequence[Any] | Mapping[int, Any]
) -> wgpu.GPUBindGroup:
    """A bind group of `resources`, by binding; a sequence counts from 0."""
    numbered = resources.items() if isinstance(resources, Mapping) else enumerate(resources)
    entries: list[Any] = [{"binding": n, "resource": resource} for n, resource in numbered]
    return gpu.device.create_bind_group(layout=layout, entries=entries)


def uniform_range(gpu: Gpu, size: int) -> dict[str, Any]:
    """A uniform of `size` bytes in the uniform ring, whose offset is set with the bind group."""
    return {"buffer": gpu.uniforms.buffer, "offset": 0, "size": size}


def whole_buffer(buffer: wgpu.GPUBuffer) -> dict[str, Any]:
    """A binding of the whole buffer."""
    return {"buffer": buffer, "offset": 0, "size": buffer.size}


class Bindings:
    """Binds uniforms of these sizes from the uniform ring, then a resource of each of `kinds`."""

    def __init__(self, gpu: Gpu, uniforms: Sequence[int], kinds: Sequence[str] = (), visibility: int = BOTH):
        self._gpu, self._uniforms = gpu, uniforms
        self.layout = bind_group_layout(gpu, (*["uniform"] * len(uniforms), *kinds), visibility)
        self._groups: OrderedDict[Hashable, wgpu.GPUBindGroup] = OrderedDict()

    def group(self, key: Hashable, resources: Callable[[], Sequence[Any]]) -> wgpu.GPUBindGroup:
        """The bind group of `resources`, cached by `key`, which must identify them; the latest few are cached."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self.create(resources())
            if len(self._groups) > CACHED:
                self._groups.popitem(last=False)
        return group

    def create(self, resources: Sequence[Any] = ()) -> wgpu.GPUBindGroup:
        """A bind group of `resources`."""
        uniforms = [uniform_range(self._gpu, size) for size in self._uniforms]
        return bind_group(self._gpu, self.layout, [*uniforms, *resources])


def hidden_layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    """Group 1 of pipelines that draw into a G-buffer: the depths behind which all is hidden (draw/farthest.wgsl)."""
    return bind_group_layout(gpu, ("unfilterable",), FRAGMENT)


def lighting_layout(gpu: Gpu) -> wgpu.GPUBindGroupLayout:
    """Group 1 of pipelines that light their fragments.

    Shadow maps, their sampler, ambient occlusion (shadows.wgsl); the maps of the environment and their sampler
    (environment.wgsl); optical depths along the sun (shadows.wgsl); lobes of facets (area_lights.wgsl).
    """
    kinds = ("depths", "comparison", "unfilterable", "cube", "cube", "texture", "sampler", "textures", "texture")
    return bind_group_layout(gpu, kinds, BOTH | COMPUTE)
