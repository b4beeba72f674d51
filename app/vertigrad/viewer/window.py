"""`Window`: a glfw window whose surface the frames are presented on."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import glfw
import wgpu
from wgpu.utils.glfw_present_info import get_glfw_present_info

from ..errors import GpuError, InputError
from ..gpu import Gpu
from ..gpu.native import surface_formats
from .keys import CURSORS


class Picture(NamedTuple):
    """What a frame is drawn into: its view, and its size in pixels."""

    view: wgpu.GPUTextureView
    size: tuple[int, int]


class Window:
    """A window of `size` logical pixels. Raises `InputError` if there is no display to open it on.

    `size` is its width and height in pixels of the screen, (0, 0) while it is minimised; `extent` is the same in the
    units in which the mouse is told of. Both are as `acquire` found them last: each look asks the window system.
    """

    def __init__(self, gpu: Gpu, title: str, size: tuple[int, int], vsync: bool = True):
        self._gpu = gpu
        self._title = title
        self.handle: Any = _open(title, size)
        self._shape = 0
        self._cursors: dict[int, Any] = {}
        try:
            context = wgpu.gpu.get_canvas_context(get_glfw_present_info(self.handle, vsync))
            self.format = _configure(context, gpu)
        except BaseException:
            glfw.destroy_window(self.handle)
            raise
        self._context: wgpu.GPUCanvasContext | None = context
        self._look()

    @property
    def closed(self) -> bool:
        """Whether the user asked to close it."""
        return bool(glfw.window_should_close(self.handle))

    @property
    def scale(self) -> float:
        """Size of the user interface, 1 on an ordinary screen."""
        return max(glfw.get_window_content_scale(self.handle)[0], 0.5)

    def set_title(self, title: str) -> None:
        """Show `title` in the window's frame."""
        if title != self._title:
            self._title = title
            glfw.set_window_title(self.handle, title)

    def set_cursor(self, shape: int) -> None:
        """Show the mouse in one of ImGui's shapes."""
        if shape != self._shape:
            self._shape = shape
            if shape in CURSORS and shape not in self._cursors:
                self._cursors[shape] = glfw.create_standard_cursor(CURSORS[shape])
            chosen: Any = self._cursors.get(shape)  # None is the arrow
            glfw.set_cursor(self.handle, chosen)

    def poll(self) -> None:
        """Let events that have arrived take their effect."""
        glfw.poll_events()

    def wait(self, seconds: float) -> None:
        """Sleep until an event arrives, `seconds` at most."""
        glfw.wait_events_timeout(seconds)

    def acquire(self) -> Picture | None:
        """What to draw this frame into; None if there is nothing to draw on now.

        The size is that of the texture. The window may have another one already: then the next frame will.
        """
        assert self._context is not None
        self._look()
        if self.size == (0, 0):
            return None
        if self.size != self._context.physical_size:
            self._context.set_physical_size(*self.size)
        try:
            texture = self._context.get_current_texture()
        except wgpu.DrawCancelled:  # hidden, or between two sizes
            return None
        except wgpu.GPUError as error:
            raise GpuError(
                f"{self._gpu.adapter} cannot draw in this window ({error}); try another --adapter"
            ) from error
        return Picture(texture.create_view(), (texture.width, texture.height))

    def present(self) -> None:
        """Show what was drawn."""
        assert self._context is not None
        self._context.present()

    def _look(self) -> None:
        pixels, hidden = glfw.get_framebuffer_size(self.handle), glfw.get_window_attrib(self.handle, glfw.ICONIFIED)
        self.size: tuple[int, int] = (0, 0) if hidden or 0 in pixels else pixels
        self.extent: tuple[int, int] = glfw.get_window_size(self.handle)

    def close(self) -> None:
        """Close the window. Idempotent.

        The connection to the display stays, for further windows: Mesa 22's Vulkan knows connections by their address,
        and takes a second one for the first if it happens to get the same. The X server then refuses its requests, and
        Xlib ends the process.
        """
        if self._context is not None:
            self._context.unconfigure()
            self._context = None  # with the last reference goes the surface, which must not outlive its window
            glfw.destroy_window(self.handle)
            for cursor in self._cursors.values():
                glfw.destroy_cursor(cursor)


def _open(title: str, size: tuple[int, int]) -> Any:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", glfw.GLFWError)
        if not glfw.init():
            raise InputError(
                f"no display to open a window on{_reasons(told)}; `vertigrad render SCENE -o out.mp4` needs none "
                "(over ssh: use -X, or set DISPLAY)"
            )
        glfw.window_hint(glfw.CLIENT_API, glfw.NO_API)
        glfw.window_hint(glfw.SCALE_TO_MONITOR, glfw.TRUE)
        handle = glfw.create_window(*size, title, None, None)
        if not handle:
            raise InputError(f"no window can be opened here{_reasons(told)}; `vertigrad render` needs none")
    return handle


def _reasons(told: list[warnings.WarningMessage]) -> str:
    """What glfw warned of, in brackets."""
    reasons = [str(warning.message) for warning in told]
    return f" ({'; '.join(reasons)})" if reasons else ""


def _configure(context: wgpu.GPUCanvasContext, gpu: Gpu) -> str:
    """Choose the format of the surface; it has no size yet, and takes each from `set_physical_size`."""
    formats = surface_formats(context, gpu.adapter.adapter)
    if not formats:
        raise InputError(f"{gpu.adapter} cannot draw on this display; try another --adapter, or `vertigrad render`")
    plain = formats[0].removesuffix("-srgb")  # the picture is encoded by our own last pass
    chosen = plain if plain in formats else formats[0]
    context.configure(device=gpu.device, format=chosen)  # pyright: ignore[reportArgumentType]
    return chosen
