"""`Window`: a glfw window whose surface the frames are presented on."""

from __future__ import annotations

import warnings
from typing import Any, Protocol

import glfw
import wgpu
from wgpu.utils.glfw_present_info import get_glfw_present_info

from ..errors import GpuError, InputError
from ..gpu import Gpu, native
from ..gpu.native import surface_formats, surface_usages
from ..panels import Gui
from ..session import Session
from .canvas import SurfaceTexture
from .clipboard import share_clipboard
from .events import Events
from .input import Input
from .keys import CURSORS

DRAWN = wgpu.TextureUsage.RENDER_ATTACHMENT
COPIED = DRAWN | wgpu.TextureUsage.COPY_SRC
GRIP = 60  # pixels of a window that must be on a monitor


class Guest(Protocol):
    """Who else sees what a window shows, and takes part in its events."""

    def poll(self) -> None:
        """Let events that have arrived take their effect."""
        ...

    def record(self, texture: wgpu.GPUTexture) -> None:
        """Record a copy of the image, into the frame's submission."""
        ...

    def set_title(self, title: str) -> None:
        """The window has another title."""
        ...

    def set_cursor(self, shape: int) -> None:
        """The mouse has another of ImGui's shapes."""
        ...


class Window:
    """A window of `size` logical pixels, at `position` on the screen if that is visible.

    Raises `InputError` if there is no display to open it on.

    `size` is its width and height in pixels of the screen, (0, 0) while it is minimized; `extent` is the same in the
    units of the mouse's coordinates. Both are as of the last `acquire`: reading them asks the window system.
    """

    def __init__(
        self,
        gpu: Gpu,
        title: str,
        size: tuple[int, int],
        vsync: bool = True,
        position: tuple[int, int] | None = None,
    ):
        self._gpu = gpu
        self._title = title
        largest = gpu.limits["max-texture-dimension-2d"]
        self.handle: Any = _open(title, (min(size[0], largest), min(size[1], largest)), position)
        self._windowed: tuple[int, int, int, int] | None = None  # position and size to return to from the full screen
        self._shape = 0
        self._guest: Guest | None = None
        self._texture: wgpu.GPUTexture | None = None  # of this frame
        self._cursors: dict[int, Any] = {}
        try:
            self._present_info = get_glfw_present_info(self.handle, vsync)
            context = wgpu.gpu.get_canvas_context(self._present_info)
            self.format = _configure(context, gpu)
        except BaseException:
            glfw.destroy_window(self.handle)
            raise
        self._context: wgpu.GPUCanvasContext | None = context
        self._read_size()

    def connect(self, session: Session, gui: Gui) -> Events:
        """Let events and the clipboard reach the session and the GUI."""
        share_clipboard(gui)
        return Input(self, session, gui).events

    def share(self, guest: Guest | None) -> None:
        """Let a guest take part from the next frame on; None: nobody any more. Raises `InputError` if it cannot."""
        assert self._context is not None
        if guest is not None and not surface_usages(self._context, self._gpu.adapter.adapter) & COPIED == COPIED:
            raise InputError("images of this window cannot be copied; serve a Viewer(offscreen=True) instead")
        self._guest = guest
        _configure(self._context, self._gpu, COPIED if guest is not None else DRAWN)
        if guest is not None:
            guest.set_title(self._title)

    @property
    def closed(self) -> bool:
        """Whether the user asked to close it."""
        return bool(glfw.window_should_close(self.handle))

    def stay_open(self) -> None:
        """Forget that the user asked to close it."""
        glfw.set_window_should_close(self.handle, False)

    @property
    def scale(self) -> float:
        """Size of the user interface, 1 on an ordinary screen."""
        return max(glfw.get_window_content_scale(self.handle)[0], 0.5)

    @property
    def refresh_ms(self) -> float:
        """The refresh period of the window's monitor; 0 if it is unknown."""
        mode = glfw.get_video_mode(monitor_at(self.position or (0, 0)))
        return 1e3 / mode.refresh_rate if mode.refresh_rate > 0 else 0.0

    @property
    def logical_size(self) -> tuple[int, int]:
        """What `size` was to be, to get a window as this one is, or was before it filled the screen."""
        pixels = self._windowed[2:] if self._windowed else glfw.get_window_size(self.handle)
        per_unit = glfw.get_framebuffer_size(self.handle)[0] / max(glfw.get_window_size(self.handle)[0], 1)
        factor = per_unit / glfw.get_window_content_scale(self.handle)[0]
        return round(pixels[0] * factor), round(pixels[1] * factor)

    @property
    def position(self) -> tuple[int, int] | None:
        """The window's position on the screen; None where the desktop does not report it."""
        if self._windowed:
            return self._windowed[:2]
        return None if is_wayland() else glfw.get_window_pos(self.handle)

    def fill_screen(self, on: bool) -> None:
        """Fill the screen that the window is on, or return from it. Does nothing if that is how it is."""
        if on == (self._windowed is not None):
            return
        if self._windowed:
            glfw.set_window_monitor(self.handle, None, *self._windowed, glfw.DONT_CARE)  # pyright: ignore
            self._windowed = None
        else:
            x, y = (0, 0) if is_wayland() else glfw.get_window_pos(self.handle)
            self._windowed = x, y, *glfw.get_window_size(self.handle)
            monitor = monitor_at((x, y))
            mode = glfw.get_video_mode(monitor)
            glfw.set_window_monitor(self.handle, monitor, 0, 0, *mode.size, mode.refresh_rate)

    def set_vsync(self, on: bool) -> None:
        """Synchronize frames with the display's refresh, or present them at once."""
        if on != self._present_info["vsync"] and self._context is not None:
            self._present_info["vsync"] = on
            native.set_vsync(self._context, on)
            _configure(self._context, self._gpu, DRAWN if self._guest is None else COPIED)

    def set_title(self, title: str) -> None:
        """Show `title` in the window's frame."""
        if title != self._title:
            self._title = title
            if self._guest is not None:
                self._guest.set_title(title)
            glfw.set_window_title(self.handle, title)

    def set_cursor(self, shape: int) -> None:
        """Show the mouse in one of ImGui's shapes."""
        if shape != self._shape:
            self._shape = shape
            if self._guest is not None:
                self._guest.set_cursor(shape)
            if shape in CURSORS and shape not in self._cursors:
                self._cursors[shape] = glfw.create_standard_cursor(CURSORS[shape])
            chosen: Any = self._cursors.get(shape)  # None is the arrow
            glfw.set_cursor(self.handle, chosen)

    def poll(self) -> None:
        """Let events that have arrived take their effect."""
        glfw.poll_events()
        if self._guest is not None:
            self._guest.poll()

    def wake(self) -> None:
        """End `wait`; for other threads."""
        glfw.post_empty_event()

    def wait(self, seconds: float) -> None:
        """Sleep until an event arrives, `seconds` at most."""
        glfw.wait_events_timeout(seconds)

    def acquire(self) -> SurfaceTexture | None:
        """What to draw this frame into; None if there is nothing to draw on now.

        The size is that of the texture. The window may have another one already: then the next frame will.
        """
        assert self._context is not None
        self._texture = None
        self._read_size()
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
        self._texture = texture
        return SurfaceTexture(texture.create_view(), (texture.width, texture.height))

    def record(self) -> None:
        """Let the guest copy the image, if there is one."""
        if self._guest is not None and self._texture is not None:
            self._guest.record(self._texture)

    def present(self) -> None:
        """Show what was drawn."""
        assert self._context is not None
        self._texture = None  # it must not outlive its surface
        self._context.present()

    def _read_size(self) -> None:
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


def _open(title: str, size: tuple[int, int], position: tuple[int, int] | None) -> Any:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", glfw.GLFWError)
        if not glfw.init():
            raise InputError(
                f"no display to open a window on{_reasons(caught)}; `vertigrad render SCENE -o out.mp4` needs none "
                "(over ssh: use -X, or set DISPLAY)"
            )
        glfw.window_hint(glfw.CLIENT_API, glfw.NO_API)
        glfw.window_hint(glfw.SCALE_TO_MONITOR, glfw.TRUE)
        x, y = position if position and can_be_grasped(position) else (glfw.ANY_POSITION, glfw.ANY_POSITION)
        glfw.window_hint(glfw.POSITION_X, x)
        glfw.window_hint(glfw.POSITION_Y, y)
        handle = glfw.create_window(*size, title, None, None)
        if not handle:
            raise InputError(f"no window can be opened here{_reasons(caught)}; `vertigrad render` needs none")
    return handle


def _reasons(caught: list[warnings.WarningMessage]) -> str:
    """What glfw warned of, in brackets."""
    reasons = [str(warning.message) for warning in caught]
    return f" ({'; '.join(reasons)})" if reasons else ""


def _configure(context: wgpu.GPUCanvasContext, gpu: Gpu, usage: int = DRAWN) -> str:
    """Choose the format of the surface; it has no size yet, and takes each from `set_physical_size`."""
    formats = surface_formats(context, gpu.adapter.adapter)
    if not formats:
        raise InputError(f"{gpu.adapter} cannot draw on this display; try another --adapter, or `vertigrad render`")
    plain = formats[0].removesuffix("-srgb")  # the image is encoded by our own last pass
    chosen = plain if plain in formats else formats[0]
    context.configure(device=gpu.device, format=chosen, usage=usage)  # pyright: ignore[reportArgumentType]
    return chosen


def is_wayland() -> bool:
    """Whether the desktop is Wayland, which reports no positions of windows."""
    return glfw.get_platform() == glfw.PLATFORM_WAYLAND


def can_be_grasped(position: tuple[int, int]) -> bool:
    """Whether the upper left of a window at this position would be visible and could be dragged."""
    x, y = position
    for left, top, width, height in map(glfw.get_monitor_workarea, glfw.get_monitors()):
        if left - GRIP < x < left + width - GRIP and top <= y < top + height - GRIP:
            return True
    return False


def monitor_at(position: tuple[int, int]) -> Any:
    """The monitor of a window with this upper left corner: the last one that begins left of and above it."""
    monitors = glfw.get_monitors()
    before = [one for one in monitors if all(a <= b for a, b in zip(glfw.get_monitor_pos(one), position, strict=True))]
    return before[-1] if before else monitors[0]
