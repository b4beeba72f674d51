"""`Window`: a glfw window whose surface the frames are presented on."""

from __future__ import annotations

import wgpu
from wgpu.utils.glfw_present_info import get_glfw_present_info

import glfw

from ..errors import InputError
from ..gpu import Gpu

MINIMISED_WAIT = 0.1  # seconds between looks at a window that shows nothing


class Window:
    """A window of `size` logical pixels. Raises `InputError` if there is no display to open it on."""

    def __init__(self, gpu: Gpu, title: str, size: tuple[int, int], vsync: bool):
        if not glfw.init():
            raise InputError(
                "no display to open a window on; `vertigrad render SCENE -o out.mp4` needs none "
                "(over ssh: use -X, or set DISPLAY)"
            )
        glfw.window_hint(glfw.CLIENT_API, glfw.NO_API)
        glfw.window_hint(glfw.SCALE_TO_MONITOR, glfw.TRUE)
        self.handle = glfw.create_window(*size, title, None, None)
        if not self.handle:
            glfw.terminate()
            raise InputError("the window system refused to open a window; `vertigrad render` needs none")
        self._gpu = gpu
        self._context = wgpu.gpu.get_canvas_context(get_glfw_present_info(self.handle, vsync))
        preferred = self._context.get_preferred_format(gpu.adapter.adapter)
        self.format = preferred.removesuffix("-srgb")  # the picture is encoded by our own last pass
        self._size = (0, 0)

    @property
    def closed(self) -> bool:
        """Whether the user asked to close it."""
        return bool(glfw.window_should_close(self.handle))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels of the screen; (0, 0) while minimised."""
        if glfw.get_window_attrib(self.handle, glfw.ICONIFIED):
            return 0, 0
        width, height = glfw.get_framebuffer_size(self.handle)
        return (width, height) if width and height else (0, 0)

    @property
    def scale(self) -> float:
        """Size of the user interface, 1 on an ordinary screen."""
        return glfw.get_window_content_scale(self.handle)[0]

    def set_title(self, title: str) -> None:
        """Show `title` in the window's frame."""
        glfw.set_window_title(self.handle, title)

    def poll(self) -> None:
        """Let events arrive; waits a little while the window is minimised."""
        if self.size == (0, 0):
            glfw.wait_events_timeout(MINIMISED_WAIT)
        else:
            glfw.poll_events()

    def acquire(self) -> wgpu.GPUTextureView | None:
        """What to draw this frame into; None if there is nothing to draw on now."""
        size = self.size
        if size == (0, 0):
            return None
        if size != self._size:
            self._context.set_physical_size(*size)
            self._context.configure(device=self._gpu.device, format=self.format)
            self._size = size
        return self._context.get_current_texture().create_view()

    def present(self) -> None:
        """Show what was drawn."""
        self._context.present()

    def close(self) -> None:
        """Close the window and let go of the display."""
        self._context.unconfigure()
        glfw.destroy_window(self.handle)
        glfw.terminate()
