"""`Kernel`: one WGSL entry point whose bindings are found by name."""

from __future__ import annotations

import marshal
import operator
import os
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

import wgpu

from ..errors import LimitError, ShaderError
from ..progress import pause_until
from . import native, shader, wgsl
from .binding import Entry
from .compile_jobs import CompileJob, forget_waiting
from .device import Gpu, forgotten_with_the_device
from .dispatch import Dispatch
from .process import gpu

MOST_KERNELS = 1024  # loaded kernels retained for their next use; a network of hundreds of layers has that many
CACHED_GROUPS = 64  # bind groups remembered by a kernel that is called outside of plans
_BUFFER_TYPES = {"read": "read-only-storage", "read_write": "storage"}


class Kernel:
    """One compute entry point, compiled.

    `source` is WGSL, `entry` its entry point, `name` what messages call it. `trusted` compiles without run-time
    bounds checks: only for shaders that ship with the project and pass their tests; VERTIGRAD_CHECKED=1 turns the
    checks on everywhere. Raises `ShaderError` with the compiler's message. With `wait=False` that is at the first use,
    which waits until a thread has compiled it; see `CompileJob`.
    """

    def __init__(self, source: str, entry: str, name: str, trusted: bool = False, wait: bool = True):
        self.gpu: Gpu = gpu()
        self.name = name
        self.entry = entry
        self.source = source
        self.loaded_from: tuple[str, dict[str, Any], bool] | None = None  # file, values and trust, as given to `load`
        device = self.gpu.device
        module = _module(device, source, name, trusted) if wait else None
        try:
            self.interface = wgsl.interface(source, entry, name)
        except ShaderError:
            _module(device, source, name, trusted)  # which says best what is wrong
            raise
        self.bindings = tuple(b for b in self.interface.bindings if b.access != "uniform")
        self._uniform_number = next((b.number for b in self.interface.bindings if b.access == "uniform"), None)
        self.is_compiled = False  # by the driver, as `compile_kernels` found out
        self._groups: OrderedDict[tuple[tuple[int, int, int], ...], wgpu.GPUBindGroup] = OrderedDict()
        try:
            self._layout = device.create_bind_group_layout(entries=self._layout_entries())
            layout = device.create_pipeline_layout(bind_group_layouts=[self._layout])
        except wgpu.GPUError as error:
            raise ShaderError(f"{name}: {error}") from error

        def create() -> wgpu.GPUComputePipeline:
            code = {"module": module or _module(device, source, name, trusted), "entry_point": entry}
            return device.create_compute_pipeline(label=f"{name}:{entry}", layout=layout, compute=code)

        self._job = CompileJob(create)
        if self.gpu.adapter.kind != "software":  # GPU drivers compile while the rest of a network is recorded
            self._job.start()
        if wait:
            self.pipeline  # noqa: B018  raises what is wrong with it

    def start(self) -> None:
        """Have a thread compile it, side by side with others, unless that was done before."""
        self._job.start()

    @property
    def pipeline(self) -> wgpu.GPUComputePipeline:
        """What the driver made of it; waits until it is compiled. Raises `ShaderError` with the driver's message."""
        try:
            return self._job.result()
        except (wgpu.GPUError, ShaderError) as error:
            message = str(error) if isinstance(error, ShaderError) else f"{self.name}: {error}"
            if self.loaded_from is not None:
                path, defines, trusted = self.loaded_from
                message = shader.with_origin(message, path, defines)
                key = path, self.entry, _cache_key(defines), trusted
                _recent.pop(key, None), _alive.pop(key, None)  # so that it is compiled again from the file
            raise ShaderError(message) from error

    def wait(self) -> None:
        """As `pipeline`, but work that is done in slices lets frames be drawn meanwhile."""
        pause_until(self._job.start().done)
        _ = self.pipeline

    @property
    def label(self) -> str:
        """The name of its GPU times: the file's stem and the entry point, "nbody:kick"; main is left out."""
        stem = PurePath(self.name).stem
        return stem if self.entry == "main" else f"{stem}:{self.entry}"

    @staticmethod
    def load(path: str, entry: str = "main", defines: Mapping[str, Any] | None = None, trusted: bool = True) -> Kernel:
        """The kernel `entry` of the project's shader file `path` below `shaders/`, compiled once for each `defines`."""
        key = path, entry, _cache_key(defines or {}), trusted
        kernel = _recent.get(key)
        if kernel is not None:
            _recent.move_to_end(key)
            return kernel
        kernel = _alive.get(key)
        if kernel is None:
            kernel = _alive[key] = _compiled(path, entry, dict(defines or {}), trusted)
        _recent[key] = kernel
        if len(_recent) > MOST_KERNELS:
            _recent.popitem(last=False)
        return kernel

    def recompiled(self) -> Kernel:
        """The same kernel, compiled from its file as it is now. Raises `ShaderError`; `RuntimeError` without a file."""
        if self.loaded_from is None:
            raise RuntimeError(f"kernel {self.name} was created from a text, not from a file")
        path, defines, trusted = self.loaded_from
        return _compiled(path, self.entry, defines, trusted)

    def replace_with(self, other: Kernel) -> None:
        """Use the code of `other` from now on, for all callers of this kernel; plans must rebuild their dispatches."""
        self.__dict__.update(other.__dict__)

    def __call__(
        self,
        threads: int | Sequence[int],
        *,
        overwrites: Sequence[str] = (),
        indirect: Any = None,
        **arguments: Any,
    ) -> None:
        """Record one dispatch now, or add it to the plan that is `recording`; see `Dispatch` for what is raised."""
        dispatch = Dispatch(self, threads, overwrites, arguments, indirect)
        if self.gpu.recording is None:
            dispatch.record()
        else:
            self.gpu.recording.append(dispatch)

    def workgroups(self, threads: int | Sequence[int]) -> tuple[int, int, int]:
        """How many workgroups cover `threads` (x, or x, y, z). Raises `LimitError` beyond the adapter's limit."""
        limit = self.gpu.limits["max-compute-workgroups-per-dimension"]
        try:
            sizes = [operator.index(n) for n in (threads if isinstance(threads, Iterable) else (threads,))]
        except TypeError:
            sizes = []
        if not 1 <= len(sizes) <= 3 or min(sizes) < 0:
            raise ShaderError(f"kernel {self.name}: threads are one to three integers, not {threads!r}")
        groups = [-(-n // size) for n, size in zip(sizes, self.interface.workgroup, strict=False)]
        groups += [1] * (3 - len(groups))
        if len(sizes) == 1 and groups[0] > limit and self.interface.folds:
            groups[1] = -(-groups[0] // limit)
            groups[0] = -(-groups[0] // groups[1])
        if max(groups) > limit:
            raise LimitError(
                f"kernel {self.name}: {sizes} threads need {groups} workgroups; {limit} a dimension at most"
            )
        return groups[0], groups[1], groups[2]

    def bound(self, **tensors: Any) -> dict[str, Any]:
        """Those of `tensors` that this entry point binds; None for the others."""
        names = {binding.name for binding in self.bindings}
        return {name: tensor if name in names else None for name, tensor in tensors.items()}

    def bind_group(self, entries: Sequence[Entry]) -> wgpu.GPUBindGroup:
        """The bind group for blocks as they are now; cached."""
        key = tuple((entry.owner.block.id, entry.offset, entry.size) for entry in entries)
        group = self._groups.get(key)
        if group is None:
            try:
                group = self._create_group(entries)
            except wgpu.GPUError as error:
                raise ShaderError(f"kernel {self.name}: {error}") from error
            self._groups[key] = group
            if len(self._groups) > CACHED_GROUPS:
                self._groups.popitem(last=False)
        else:
            self._groups.move_to_end(key)
        return group

    def _create_group(self, entries: Sequence[Entry]) -> wgpu.GPUBindGroup:
        resources: list[Any] = [
            {
                "binding": entry.binding.number,
                "resource": {"buffer": entry.owner.block.buffer, "offset": entry.offset, "size": entry.size},
            }
            for entry in entries
        ]
        if self.interface.uniform is not None:
            uniform = {"buffer": self.gpu.uniforms.buffer, "offset": 0, "size": self.interface.uniform.size}
            resources.append({"binding": self._uniform_number, "resource": uniform})
        return self.gpu.device.create_bind_group(layout=self._layout, entries=resources)

    def _layout_entries(self) -> list[Any]:
        entries = []
        for binding in self.interface.bindings:
            if binding.access == "uniform":
                buffer: dict[str, Any] = {"type": "uniform", "has_dynamic_offset": True}
            else:
                buffer = {"type": _BUFFER_TYPES[binding.access]}
            entries.append({"binding": binding.number, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": buffer})
        return entries


def loaded(files: Collection[str]) -> list[Kernel]:
    """Every kernel in use, or used lately, that was loaded from one of the shader files."""
    return [kernel for (path, *_), kernel in list(_alive.items()) if path in files]


def _cache_key(defines: Mapping[str, Any]) -> bytes | str:
    """A key for values that render differently, as 1, 1.0 and True do, though they are equal."""
    try:
        return marshal.dumps(dict(defines), 2)  # version 2: later ones depend on which values are one object
    except ValueError:
        return repr(sorted(defines.items()))


def _compiled(path: str, entry: str, defines: dict[str, Any], trusted: bool) -> Kernel:
    source, is_shipped = shader.render(path, defines), shader.is_as_shipped(path)
    try:
        kernel = Kernel(source, entry, f"shaders/{path}", trusted and is_shipped, wait=not is_shipped)
    except ShaderError as error:
        raise ShaderError(shader.with_origin(str(error), path, defines)) from error
    kernel.loaded_from = path, defines, trusted
    return kernel


def _module(device: wgpu.GPUDevice, source: str, name: str, trusted: bool) -> wgpu.GPUShaderModule:
    try:
        if trusted and os.environ.get("VERTIGRAD_CHECKED") != "1":
            return native.trusted_module(device, source, name)
        return device.create_shader_module(label=name, code=source)
    except wgpu.GPUError as error:
        raise ShaderError(f"{name}: {error}") from error


_Key: TypeAlias = tuple[str, str, bytes | str, bool]
_alive: WeakValueDictionary[_Key, Kernel] = WeakValueDictionary()  # none is compiled twice, all can be reloaded
_recent: OrderedDict[_Key, Kernel] = OrderedDict()  # those retained although nobody else holds them, latest last
forgotten_with_the_device.append(lambda gpu: (_recent.clear(), _alive.clear(), forget_waiting()))
