"""A frame of a scene as a hand-written wgpu-py program would encode it.

One frame of ours is traced: every wgpu call is recorded with its objects, raw calls as
the equivalent wgpu-py calls. From that a function is compiled, straight-line Python with those calls and
nothing else: no checks, no counts, uniforms ready as bytes. It draws the same image.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import wgpu.backends.wgpu_native as backend

from vertigrad.gpu import Gpu
from vertigrad.gpu.native import ComputeEncoder, DispatchList, DrawEncoder, RenderPass, VertexBuffers

ENCODER = ("copy_buffer_to_buffer", "clear_buffer")
COMPUTE = ("set_pipeline", "set_bind_group", "dispatch_workgroups")
RENDER = (
    *("set_pipeline", "set_bind_group", "set_vertex_buffer", "set_index_buffer", "draw", "draw_indexed"),
    *("set_viewport", "set_scissor_rect", "draw_indirect", "draw_indexed_indirect", "end"),
)


class Script:
    """Lines of Python, and the objects they name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._known: dict[int, str] = {}

    def add(self, target: str, method: str, arguments: tuple[Any, ...], options: dict[str, Any], result: str) -> None:
        words = [self._name(a) for a in arguments] + [
            f"{k}={self._name(v)}" for k, v in options.items() if v is not None
        ]
        self.lines.append(f"{result} = {target}.{method}({', '.join(words)})")

    def _name(self, value: Any) -> str:
        if isinstance(value, int | float | str | tuple) and all(isinstance(v, int | float) for v in _items(value)):
            return repr(value)
        if id(value) not in self._known:
            self._known[id(value)] = f"object_{len(self.names)}"
            self.names[self._known[id(value)]] = value
        return self._known[id(value)]

    def compile(self, gpu: Gpu, uniforms: bytes, submitted: bool) -> Callable[[], None]:
        body = ["encoder = device.create_command_encoder()", *self.lines, "commands = encoder.finish()"]
        if submitted:
            body += ["queue.write_buffer(ring, 0, uniforms)", "queue.submit([commands])"]
        source = "def frame():\n" + "\n".join(f"    {line}" for line in body)
        scope = {
            **self.names,
            "device": gpu.device,
            "queue": gpu.queue,
            "ring": gpu.uniforms.buffer,
            "uniforms": uniforms,
        }
        exec(compile(source, "hand-written frame", "exec"), scope)
        return scope["frame"]


def _items(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else ()


@contextmanager
def _watched(script: Script) -> Iterator[None]:
    functions: list[tuple[type, str, Any]] = []
    own = tuple(name for name in vars(DrawEncoder) if not name.startswith("_"))
    watched = (
        (backend.GPUCommandEncoder, "encoder", ENCODER),
        (backend.GPUComputePassEncoder, "compute", COMPUTE),
        (backend.GPURenderPassEncoder, "render", RENDER),
        (DrawEncoder, "render", own),
        (ComputeEncoder, "compute", ("end",)),
    )
    for class_, target, methods in watched:
        for method in methods:
            original = getattr(class_, method)
            functions.append((class_, method, original))
            setattr(class_, method, _note(script, target, method, original))
    functions += [(ComputeEncoder, "__init__", ComputeEncoder.__init__)]
    functions += [(DispatchList, "encode", DispatchList.encode), (RenderPass, "begin", RenderPass.begin)]
    functions += [(VertexBuffers, "set", VertexBuffers.set)]
    ComputeEncoder.__init__ = _plain_compute_pass(script, ComputeEncoder.__init__)
    DispatchList.encode = _plain_encode
    VertexBuffers.set = _plain_set
    RenderPass.begin = _plain_begin(script, RenderPass.begin)
    try:
        yield
    finally:
        for class_, method, original in functions:
            setattr(class_, method, original)


def _note(script: Script, target: str, method: str, original: Callable[..., Any]) -> Callable[..., Any]:
    def noted(self: Any, *arguments: Any, **options: Any) -> Any:
        if not any(getattr(one, "label", "") == "readback" for one in arguments):  # that is of one frame only
            script.add(target, method, arguments, options, "_")
        return original(self, *arguments, **options)

    return noted


def _plain_compute_pass(script: Script, original: Callable[..., None]) -> Callable[..., None]:
    def noted(self: ComputeEncoder, encoder: Any, timestamps: Any = None) -> None:
        script.add("encoder", "begin_compute_pass", (), {}, "compute")
        original(self, encoder, timestamps)

    return noted


def _plain_encode(self: DispatchList, compute_pass: Any, base: int) -> None:
    """`DispatchList.encode` with wgpu-py's own calls."""
    for (pipeline, group, size), call, relative in zip(self._keep_alive, self._calls, self._relative, strict=False):
        compute_pass.set_pipeline(pipeline)
        compute_pass.set_bind_group(0, group, (base + int(relative),) if call[1] else ())
        if len(size) == 2:
            compute_pass.dispatch_workgroups_indirect(*size)
        else:
            compute_pass.dispatch_workgroups(*size)


def _plain_set(self: VertexBuffers, pass_: Any) -> None:
    """`VertexBuffers.set` with wgpu-py's own calls."""
    for slot, part in enumerate(self.parts):
        pass_.set_vertex_buffer(slot, *part)


def _plain_begin(script: Script, original: Callable[..., Any]) -> Callable[..., Any]:
    """`RenderPass.begin` with wgpu-py's own call."""

    def noted(self: RenderPass, encoder: Any, timestamps: Any = None, view: Any = None) -> Any:
        colors = [{"view": view, **color} for color in self.color_attachments]
        depth = self.depth_stencil_attachment
        options = {"color_attachments": colors, "depth_stencil_attachment": depth}
        script.add("encoder", "begin_render_pass", (), options, "render")
        return original(self, encoder, timestamps, view)

    return noted


def watched(gpu: Gpu, frame: Callable[[], None]) -> tuple[Script, bytes]:
    """The wgpu calls of `frame`, which encodes a frame of ours into the open submission, and its uniforms."""
    script = Script()
    gpu.sync()
    with _watched(script):
        frame()
        gpu.recorder.encoder  # noqa: B018  ends the open pass
        uniforms = bytes(gpu.uniforms._image.bytes[: gpu.uniforms._used])
        gpu.submit()
    gpu.sync()
    return script, uniforms


def plain_loop(gpu: Gpu, frame: Callable[[], None], submitted: bool = True) -> Callable[[], None]:
    """The plain form of `frame`. With `submitted` false it finishes its commands and drops them."""
    script, uniforms = watched(gpu, frame)
    return script.compile(gpu, uniforms, submitted)
