"""`Shell`: a session in a GUI without a window; tests send input to ImGui directly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from imgui_bundle import imgui

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.panels import Gui
from vertigrad.panels.workspace import Workspace
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session

KEYS = {
    "Enter": imgui.Key.enter,
    "Esc": imgui.Key.escape,
    "Down": imgui.Key.down_arrow,
    "Up": imgui.Key.up_arrow,
    "Left": imgui.Key.left_arrow,
    "Right": imgui.Key.right_arrow,
    "Tab": imgui.Key.tab,
    "Space": imgui.Key.space,
    "Backspace": imgui.Key.backspace,
    "F6": imgui.Key.f6,
}
SMALL = {"nbody": ["galaxy.count=64"], "neural_field": ["terrain.resolution=16"]}  # settings, by scene
Windows = dict[str, tuple[float, float, float, float]]


class Shell:
    """Frames run when the test calls `frames`; drawing happens only in `image`."""

    def __init__(self, gpu: Gpu, session: Session, size: tuple[int, int], scale: float, workspace: Workspace | None):
        self.gpu, self.session, self.size, self.scale = gpu, session, size, scale
        self.gui = Gui(gpu, FORMAT, scale, workspace)

    @property
    def workspace(self) -> Workspace:
        return self.gui.workspace

    def frames(self, count: int = 3) -> None:
        for _ in range(count):
            with self.gpu.frames.frame():
                self.session.apply()
                self.session.advance()
                self.gui.build(self.session, self.size, 1 / 60, self.scale)

    def image(self) -> np.ndarray:
        """The image that the window would show, uint8, shape (height, width, 4)."""
        images: list[np.ndarray] = []
        offscreen, renderer = Offscreen(self.gpu, self.size), Renderer(self.gpu, FORMAT)
        with self.gpu.frames.frame():
            self.session.apply()
            self.gui.build(self.session, self.size, 1 / 60, self.scale)
            left, top, width, height = self.gui.viewport
            self.session.draw(renderer, offscreen.view, (width, height), (left, top))
            self.gui.draw(offscreen.view)
            offscreen.read(images.append)
        self.gpu.sync()
        while not images:
            self.gpu.poll()
        return images[0]

    def windows(self) -> Windows:
        """The visible top-level windows: left, top, right, bottom by name."""
        found = [w for w in self.gui._context.windows if w.active and not w.hidden]
        return {w.name: (w.pos.x, w.pos.y, w.pos.x + w.size.x, w.pos.y + w.size.y) for w in found}

    def key(self, name: str) -> None:
        """Press a key as the viewer's input does: send it to ImGui, then look it up in the table."""
        if name in KEYS:
            self.gui.io.add_key_event(KEYS[name], True)
        self.gui.press(self.session, name)
        self.frames(2)
        if name in KEYS:
            self.gui.io.add_key_event(KEYS[name], False)
        self.frames(2)

    def type(self, text: str) -> None:
        self.gui.io.add_input_characters_utf8(text)
        self.frames(3)

    def move(self, x: float, y: float) -> None:
        self.gui.io.add_mouse_pos_event(x, y)
        self.frames(2)

    def button(self, down: bool) -> None:
        self.gui.io.add_mouse_button_event(0, down)
        self.frames(2)

    def click(self, x: float, y: float) -> None:
        self.move(x, y)
        self.button(True)
        self.button(False)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.move(*start)
        self.button(True)
        for share in (0.3, 0.7, 1.0, 1.0):
            self.move(*(a + share * (b - a) for a, b in zip(start, end, strict=True)))
        self.button(False)


@contextmanager
def shells(gpu: Gpu) -> Iterator[Callable[..., Shell]]:
    """Open shells on a scene, paused; all are closed at the end."""
    with ExitStack() as stack:

        def open_(
            scene: str | Path = "nbody",
            *sets: str,
            size: tuple[int, int] = (1000, 700),
            scale: float = 1.0,
            workspace: Workspace | None = None,
        ) -> Shell:
            path = scene if isinstance(scene, Path) else resources.path("scenes", f"{scene}.toml")
            session = stack.enter_context(Session(gpu, path, [*SMALL.get(path.stem, []), *sets]))
            session.playing = False
            shell = Shell(gpu, session, size, scale, workspace)
            stack.callback(shell.gui.close)
            shell.frames()
            return shell

        yield open_
