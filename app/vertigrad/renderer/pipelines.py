"""Render pipelines, cached by what they depend on and shared by all layers of a device."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from weakref import WeakKeyDictionary, WeakSet

import wgpu

from ..errors import ShaderError
from ..gpu import Gpu, native, shader
from ..gpu.compile_jobs import CompileJob
from ..gpu.device import forgotten_with_the_device

TILE = 8  # pixels along each side of a workgroup of shaders that compute images
SOFTWARE_COLUMN = 8
BY_FRAGMENTS = ("software",)  # kinds of adapters that compute images in fragments: they have no other multiprocessors
CACHED = 128  # objects of each device

T = TypeVar("T")


class DrawCache:
    """Shader modules, pipelines, samplers and colormap textures of one device, the least recently used dropped."""

    def __init__(self) -> None:
        self._cached: OrderedDict[Hashable, Any] = OrderedDict()
        self.modules: set[tuple[Any, ...]] = set()  # keys of all that were created; [1] is the file
        self.users: WeakSet[CacheUser] = WeakSet()

    def get(self, key: Hashable, create: Callable[[], T]) -> T:
        """The cached object of `key`, created by `create` the first time."""
        if key not in self._cached:
            self._cached[key] = create()
            if len(self._cached) > CACHED:
                self._cached.popitem(last=False)
        self._cached.move_to_end(key)
        return self._cached[key]

    def drop(self, files: Collection[str]) -> None:
        """Drop everything that was created from shader files."""
        for key in list(self._cached):
            if isinstance(key, tuple) and any(isinstance(part, str) and part in files for part in key):
                del self._cached[key]

    def __len__(self) -> int:
        return len(self._cached)


class CacheUser(Protocol):
    """An object, besides layers, that stores pipelines."""

    def compile(self) -> None:
        """Get the pipelines from the cache, after shaders have changed."""


def replace_draw_shaders(gpu: Gpu, files: Collection[str], bind_layers: Callable[[], object]) -> None:
    """Recompile shader files for everything that draws with them; `bind_layers` rebinds every layer.

    Raises `ShaderError`, and what binding raises; then it must be called again, with the texts before.
    """
    cache = draw_cache(gpu)
    modules = [key for key in cache.modules if key[1] in files]  # pipelines in use may be of one that was dropped
    if not modules:
        return
    cache.drop(files)
    try:
        for _, file, values, _ in modules:
            draw_shader(gpu, file, dict(values))  # also what is not drawn now, to find its errors
        bind_layers()
        for user in list(cache.users):
            user.compile()
    except wgpu.GPUError as error:
        raise ShaderError(f"{', '.join(f'shaders/{file}' for file in files)}: {error}") from error


_caches: WeakKeyDictionary[Gpu, DrawCache] = WeakKeyDictionary()
forgotten_with_the_device.append(lambda gpu: _caches.pop(gpu, None))


def draw_cache(gpu: Gpu) -> DrawCache:
    """The cache that belongs to `gpu`."""
    cache = _caches.get(gpu)
    if cache is None:
        cache = _caches[gpu] = DrawCache()
    return cache


def draw_shader(gpu: Gpu, path: str, defines: Mapping[str, Any]) -> wgpu.GPUShaderModule:
    """The shader file `path` below `shaders/`, compiled. Raises `ShaderError` with the compiler's message."""
    return _module(gpu, path, defines).result()


def _module(gpu: Gpu, path: str, defines: Mapping[str, Any]) -> CompileJob[wgpu.GPUShaderModule]:
    """The same, while a thread compiles it."""

    def create() -> CompileJob[wgpu.GPUShaderModule]:
        code, device = shader.render(path, defines), gpu.device  # which may be another one before a thread compiles it

        def compiled() -> wgpu.GPUShaderModule:
            try:
                return device.create_shader_module(label=path, code=code)
            except wgpu.GPUError as error:
                raise ShaderError(shader.with_origin(f"shaders/{path}: {error}", path, defines)) from error

        return _started(compiled, path)

    values, cache = tuple(sorted(defines.items())), draw_cache(gpu)
    key = "module", path, values, repr(values)  # 1 and True differ only in WGSL
    module = cache.get(key, create)
    cache.modules.add(key)
    return module


def _started(create: Callable[[], T], path: str) -> CompileJob[T]:
    """A thread compiles it, side by side with others. What a file was edited to may be wrong: that is found out now."""
    job = CompileJob(create)
    job.start()
    if not shader.is_as_shipped(path):
        job.result()
    return job


def smooth_sampler(gpu: Gpu) -> wgpu.GPUSampler:
    """Linear between texels, the edge's color beyond it."""
    return draw_cache(gpu).get(
        "smooth sampler", lambda: gpu.device.create_sampler(mag_filter="linear", min_filter="linear")
    )


def render_pipeline(
    gpu: Gpu,
    file: str,
    entries: tuple[str, str],
    layouts: Sequence[wgpu.GPUBindGroupLayout],
    targets: Sequence[Mapping[str, Any]],
    *,
    defines: Mapping[str, Any] | None = None,
    buffers: Sequence[Mapping[str, Any]] = (),
    topology: str = "triangle-list",
    cull: str = "none",
    depth: Mapping[str, Any] | None = None,
    multisample: Mapping[str, Any] | None = None,
) -> wgpu.GPURenderPipeline:
    """The pipeline of the vertex and the fragment stage `entries` of a shader file, created once for each device."""
    values = tuple((defines or {}).items())
    states = repr((values, targets, buffers, topology, cull, depth, multisample))

    def create() -> wgpu.GPURenderPipeline:
        module, (vertex, fragment), device = _module(gpu, file, dict(values)), entries, gpu.device
        label, layout = f"{file}:{fragment}", device.create_pipeline_layout(bind_group_layouts=list(layouts))

        def compiled() -> wgpu.GPURenderPipeline:
            code = module.result()
            return device.create_render_pipeline(
                label=label,
                layout=layout,
                vertex={"module": code, "entry_point": vertex, "buffers": list(buffers)},  # pyright: ignore
                fragment={"module": code, "entry_point": fragment, "targets": list(targets)},  # pyright: ignore
                primitive={"topology": topology, "cull_mode": cull},  # pyright: ignore
                depth_stencil=depth,  # pyright: ignore
                multisample=multisample,  # pyright: ignore
            )

        return native.PendingRenderPipeline(label, _started(compiled, file).result)

    return draw_cache(gpu).get((file, entries, tuple(layouts), states), create)


def compute_pipeline(
    gpu: Gpu, file: str, entry: str, layouts: Sequence[wgpu.GPUBindGroupLayout], defines: Mapping[str, Any]
) -> wgpu.GPUComputePipeline:
    """The pipeline of an entry point of a shader file, with a layout for each group; created once for each device.

    `SPREAD` of shaders/common/tiles.wgsl is among the template's values.
    """
    defines = {"SPREAD": gpu.adapter.kind == "software", **defines}

    def create() -> wgpu.GPUComputePipeline:
        module, label, device = _module(gpu, file, defines), f"{file}:{entry}", gpu.device
        layout = device.create_pipeline_layout(bind_group_layouts=list(layouts))

        def compiled() -> wgpu.GPUComputePipeline:
            code = {"module": module.result(), "entry_point": entry}
            return device.create_compute_pipeline(label=label, layout=layout, compute=code)

        return native.PendingComputePipeline(label, _started(compiled, file).result)

    return draw_cache(gpu).get((file, entry, tuple(layouts), repr(defines)), create)


def dispatch(
    gpu: Gpu,
    part: str,
    pipeline: wgpu.GPUComputePipeline,
    groups: Sequence[wgpu.GPUBindGroup],
    offsets: Sequence[int],
    workgroups: tuple[int, int],
) -> None:
    """Record one dispatch, timed as `part` of the frame; `offsets` are those of the uniforms of the first group."""
    recorder = gpu.recorder
    with recorder.group(part):
        pass_ = recorder.compute_pass()
        pass_.set_pipeline(pipeline)
        pass_.set_bind_group(0, groups[0], offsets)
        for number, group in enumerate(groups[1:], 1):
            pass_.set_bind_group(number, group)
        pass_.dispatch_workgroups(*workgroups)
    recorder.dispatches += 1


def tiles(size: tuple[int, int], column: int = 1) -> tuple[int, int]:
    """The workgroups of `TILE` x `TILE` columns of pixels that cover an image of `size` pixels."""
    width, height = size
    return -(-width // TILE), -(-height // (TILE * column))


def column_of(gpu: Gpu) -> int:
    """`COLUMN_PIXELS` of shaders/common/columns.wgsl on this adapter."""
    return SOFTWARE_COLUMN if gpu.adapter.kind == "software" else 1


def workgroups(gpu: Gpu, rows: int, workgroup: int) -> tuple[int, int]:
    """Workgroups of so many invocations for all rows, in two dimensions if one is not enough."""
    count = -(-rows // workgroup)
    down = -(-count // gpu.limits["max-compute-workgroups-per-dimension"])
    return -(-count // down), down


def fullscreen_pipeline(
    gpu: Gpu,
    shader: str,
    fragment: str,
    layout: wgpu.GPUBindGroupLayout,
    targets: Sequence[Mapping[str, Any]],
    **options: Any,
) -> wgpu.GPURenderPipeline:
    """A pass over whole targets; `options` as those of `render_pipeline`."""
    return render_pipeline(gpu, shader, ("fullscreen_vertex", fragment), [layout], targets, **options)
