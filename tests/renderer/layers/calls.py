"""`Calls`: records calls of wgpu's C functions, and the buffers that draws and dispatches read."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import wgpu

from vertigrad.gpu.native import dispatch_list, encoders, queue, render_pass
from vertigrad.gpu.native.foreign import ffi

BACKEND = "wgpu.backends.wgpu_native._api"
PASSES = ("wgpuRenderPassEncoder", "wgpuComputePassEncoder")
# indices of the buffers among the arguments: those read, and those written
MOVES = {
    "wgpuCommandEncoderCopyBufferToBuffer": ((1,), (3,)),
    "wgpuQueueWriteBuffer": ((), (1,)),
    "wgpuBufferMapAsync": ((0,), (0,)),
    "wgpuBufferGetMappedRange": ((0,), (0,)),
}


class _Listening:
    """The functions of a library, each call passed to `hear` first."""

    def __init__(self, library: Any, hear: Callable[[str, tuple[Any, ...], Any], None]):
        self._library, self._hear = library, hear

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._library, name)
        if not name.startswith("wgpu"):
            return found

        def call(*arguments: Any) -> Any:
            result = found(*arguments)
            self._hear(name, arguments, result)
            return result

        return call


class Calls:
    """Records from its construction to the end of the test; create it before the layers, for their bind groups.

    `drawn` and `computed` are the addresses of the buffers bound in draws and in dispatches, `moves` the (function,
    buffers read, buffers written) of every copy, write and mapping; `counts` says how often each function was called.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._groups: dict[int, set[int]] = {}
        self.counts: Counter[str] = Counter()
        self.drawn: set[int] = set()
        self.computed: set[int] = set()
        self.moves: list[tuple[str, set[int], set[int]]] = []
        for module in (sys.modules[BACKEND], dispatch_list, encoders, queue, render_pass):
            for name in ("lib", "libf"):
                if hasattr(module, name):
                    monkeypatch.setattr(module, name, _Listening(getattr(module, name), self._hear))
        bind = encoders.ComputeEncoder._set_bind_group_function  # wgpu-py has looked it up

        def set_bind_group(*arguments: Any) -> None:
            bind(*arguments)
            self._hear("wgpuComputePassEncoderSetBindGroup", arguments, None)

        monkeypatch.setattr(encoders.ComputeEncoder, "_set_bind_group_function", staticmethod(set_bind_group))

    def clear(self) -> None:
        """Clear the recorded draws and moves, but not the contents of bind groups."""
        self.drawn, self.computed, self.moves = set(), set(), []
        self.counts.clear()

    def _hear(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        self.counts[name] += 1
        if name == "wgpuDeviceCreateBindGroup":
            argument = arguments[1]
            entries = (argument.entries[i] for i in range(argument.entryCount))
            self._groups[_number(result)] = {_number(entry.buffer) for entry in entries if entry.buffer}
        elif name in MOVES:
            read, written = ({_number(arguments[at]) for at in indices} for indices in MOVES[name])
            self.moves.append((name, read, written))
        elif name.startswith("wgpuCommandEncoderCopy") and "Buffer" in name:
            self.moves.append((name, *_of_textures(arguments)))
        elif name.startswith(PASSES):
            bound = self.drawn if name.startswith(PASSES[0]) else self.computed
            bound |= self._bound(name, arguments)

    def _bound(self, name: str, arguments: tuple[Any, ...]) -> set[int]:
        if name.endswith("SetBindGroup"):
            return self._groups.get(_number(arguments[2]), set())
        if name.endswith("SetVertexBuffer"):
            return {_number(arguments[2])}
        if name.endswith(("SetIndexBuffer", "Indirect")):
            return {_number(arguments[1])}
        return set()


def address(buffer: Any) -> int:
    """The address of a buffer."""
    assert isinstance(buffer, wgpu.GPUBuffer)
    return _number(buffer._internal)  # pyright: ignore[reportAttributeAccessIssue]


def addresses(blocks: Iterable[Any]) -> set[int]:
    """The addresses of the buffers of blocks."""
    return {address(block.buffer) for block in blocks}


def _number(pointer: Any) -> int:
    return int(ffi.cast("uintptr_t", pointer))


def _of_textures(arguments: tuple[Any, ...]) -> tuple[set[int], set[int]]:
    """The buffers that a copy between a buffer and a texture reads and writes."""
    found = [{_number(part.buffer)} if hasattr(part, "buffer") else set() for part in arguments[1:3]]
    return found[0], found[1]
