"""`Stored`: the bind group of a layer whose shaders read tensors as storage."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import wgpu

from ...gpu import Gpu
from ..pipelines import draw_cache
from ..view import VIEW_SIZE

REMEMBERED = 4  # sets of blocks whose bind groups are kept: outputs that are drawn while the next are made alternate

_BOTH = wgpu.ShaderStage.VERTEX | wgpu.ShaderStage.FRAGMENT
_KINDS: dict[str, dict[str, Any]] = {
    "storage": {"visibility": _BOTH, "buffer": {"type": "read-only-storage"}},
    "texture": {"visibility": _BOTH, "texture": {"sample_type": "float"}},
    "sampler": {"visibility": _BOTH, "sampler": {"type": "filtering"}},
    "depth": {
        "visibility": wgpu.ShaderStage.FRAGMENT,
        "texture": {"sample_type": "depth", "multisampled": True},
    },
}


class Stored:
    """Binds the view and the style from the uniform ring, then a resource of each of `kinds`: the keys of `_KINDS`."""

    def __init__(self, gpu: Gpu, style_size: int, kinds: Sequence[str]):
        self._gpu = gpu
        self._sizes = (VIEW_SIZE, style_size)
        uniform = {"visibility": _BOTH, "buffer": {"type": "uniform", "has_dynamic_offset": True}}
        entries: list[Any] = [{"binding": n, **entry} for n, entry in enumerate((uniform, uniform))]
        entries += [{"binding": n, **_KINDS[kind]} for n, kind in enumerate(kinds, start=2)]
        self.layout = draw_cache(gpu).get(
            ("stored layout", *kinds), lambda: gpu.device.create_bind_group_layout(entries=entries)
        )
        self._groups: OrderedDict[Hashable, wgpu.GPUBindGroup] = OrderedDict()

    def group(self, key: Hashable, resources: Callable[[], Sequence[Any]]) -> wgpu.GPUBindGroup:
        """The bind group of `resources`, made when `key`, which tells all of them, is another one."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = self._made(resources())
            if len(self._groups) > REMEMBERED:
                self._groups.popitem(last=False)
        return group

    def _made(self, resources: Sequence[Any]) -> wgpu.GPUBindGroup:
        ring = self._gpu.uniforms.buffer
        uniforms = [{"buffer": ring, "offset": 0, "size": size} for size in self._sizes]
        entries: list[Any] = [{"binding": n, "resource": part} for n, part in enumerate([*uniforms, *resources])]
        return self._gpu.device.create_bind_group(layout=self.layout, entries=entries)
