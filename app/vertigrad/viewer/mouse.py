"""`Mouse`: what mouse, trackpad and flight keys do in the viewport: move the camera, and select what is clicked."""

from __future__ import annotations

import math
import time

import glfw

from ..models.interaction import Gesture
from ..panels import DrawnRegion, Gui
from ..session import Session, commands
from ..session.cameras import NO_THRUST, Thrust
from ..session.row_selection import SelectSettings
from ..session.tool import Brush, Pixels, gestures

ORBIT = math.pi  # radians for a drag over the height of the viewport
TURN = math.pi / 2  # the same, when the eye stays
ZOOM = 1.15  # factor for each notch of the wheel
FINE = 0.25  # of a notch, with Ctrl
SCROLL = 0.04  # heights of the viewport for each notch, when the wheel moves it sideways
SWING = 0.08  # radians for each notch, when the wheel circles
FASTER = 1.2  # flight, for each notch
SHIFT_FASTER = 4.0
THICKER = 1.15  # the brush, for each notch
STEADY = 4.0  # logical pixels that the mouse may move in a click
PAUSE = 0.7  # seconds without the wheel after which its next use is another move, to be gone back from

FLIGHT = {  # by where they are on the keyboard, not by what is printed on them
    glfw.KEY_D: (1.0, 0.0, 0.0),
    glfw.KEY_A: (-1.0, 0.0, 0.0),
    glfw.KEY_E: (0.0, 1.0, 0.0),
    glfw.KEY_Q: (0.0, -1.0, 0.0),
    glfw.KEY_W: (0.0, 0.0, 1.0),
    glfw.KEY_S: (0.0, 0.0, -1.0),
}


class Mouse:
    """Left drag orbits, right or middle drag (or shift and left) pans, a click selects.

    The wheel zooms towards the cursor, a second finger or shift makes it pan, alt circle, ctrl go finely. With W, A, S,
    D, Q and E the camera flies while the right button is held, or in flight mode; the mouse looks around then, the
    wheel makes it faster. With a tool, or Ctrl, a left drag acts on the models instead, but not with Alt; Ctrl and the
    wheel change the brush radius, with Shift the brush strength. With a selection tool, a left drag draws a region that
    selects rows; with Shift it adds to them, with Ctrl it removes. A drag with Ctrl and Shift draws a box with any
    tool; with Alt it adds, with the right button it removes. Cursors are in pixels of the window.
    """

    def __init__(self, session: Session, gui: Gui):
        self._session, self._gui = session, gui
        self._held: int | None = None  # the button that drags the camera
        self._pressed = self._dragged = (0.0, 0.0)  # the cursor when it was pressed, and at the last step of the drag
        self._dragging = self._panning = self._looking = self._interacting = False
        self._mode = ""  # how the region that is being drawn selects rows; empty if there is none
        self._keys: set[int] = set()
        self._thrust = NO_THRUST
        self._scrolled_at = -math.inf

    @property
    def flying(self) -> bool:
        """Whether the flight keys fly now."""
        return self._held == glfw.MOUSE_BUTTON_RIGHT or self._session.cameras.flight_mode

    def press(self, button: int, cursor: Pixels, shift: bool, ctrl: bool, alt: bool) -> None:
        """A button went down on the viewport."""
        if self._held is None:
            shape, self._mode = self._selecting(button, shift, ctrl, alt)
            self._gui.region = self._region(shape, cursor) if shape else None
            for_models = button == glfw.MOUSE_BUTTON_LEFT and not (shape or shift or alt)
            gesture = self._gesture(ctrl) if for_models else None
            self._interacting = gesture is not None
            if gesture is not None:
                self._session.post(commands.BeginInteraction(gesture, *self._on_viewport(cursor)))
            self._held, self._pressed, self._dragged = button, cursor, cursor
            self._dragging = False
            self._panning = button != glfw.MOUSE_BUTTON_LEFT or shift
            self._looking = self._session.cameras.flight_mode and not self._panning

    def release(self, button: int, cursor: Pixels) -> None:
        """A button went up, anywhere."""
        if button != self._held:
            return
        self._held = None
        if self._interacting:
            self._end_interaction()
        elif (region := self._gui.region) is not None and (self._dragging or region.shape == "brush"):
            self._select_region(region.to(cursor))
        elif not self._dragging and button == glfw.MOUSE_BUTTON_LEFT:
            self._select(cursor)
        self._gui.region = None
        self._steer(False)

    def move(self, cursor: Pixels) -> None:
        """The mouse moved."""
        height = self._gui.panes[0].height
        if self._held is None or not height:
            return
        if self._interacting:
            self._session.post(commands.MoveInteraction(*self._on_viewport(cursor)))
            return
        if not self._dragging:
            if math.dist(cursor, self._pressed) <= STEADY * self._gui.scale:
                return
            self._dragging = True
            if self._gui.region is None:
                self._session.post(commands.RememberView())
        if self._gui.region is not None:
            self._gui.region = self._gui.region.to(cursor)
            return
        (x, y), self._dragged = self._dragged, cursor
        dx, dy = (cursor[0] - x) / height, (cursor[1] - y) / height
        if self._looking:
            self._session.post(commands.Turn(dx * TURN, -dy * TURN))
        elif self._panning:
            self._session.post(commands.Pan(-dx, dy))
        else:
            self._session.post(commands.Orbit(-dx * ORBIT, dy * ORBIT))

    def scroll(self, dx: float, dy: float, cursor: Pixels, shift: bool, alt: bool, ctrl: bool) -> None:
        """The wheel was turned over the viewport, or two fingers moved on a trackpad."""
        viewport, session = self._gui.pane(*cursor), self._session
        if not viewport.width or not viewport.height:
            return
        if ctrl and session.tool.gesture is not None:
            self._change_brush("strength" if shift else "radius", THICKER**dy)
            return
        if ctrl and session.rows.shape == "brush":
            radius = _within(_SELECTING, session.rows.settings.radius * THICKER**dy)
            session.post(commands.SetSelecting("radius", radius))
            return
        if self.flying and (self._keys or session.cameras.flight_mode):
            session.post(commands.FlyFaster(FASTER**dy))
            return
        self._remember_before_scrolling()
        if alt:
            session.post(commands.Orbit(-dx * SWING, dy * SWING))
        elif shift:
            session.post(commands.Pan(-dx * SCROLL, dy * SCROLL))
        else:
            if dx:
                session.post(commands.Pan(-dx * SCROLL, 0.0))
            factor = ZOOM ** (dy * FINE if ctrl else dy)
            session.post(commands.Zoom(factor, viewport.clip(*cursor), viewport.width / viewport.height))

    def key(self, key: int, pressed: bool, shift: bool, free: bool) -> bool:
        """A key went down or up; returns whether it was for flying. If it is not `free`, the GUI uses it."""
        if key not in FLIGHT:
            if self._keys and key in (glfw.KEY_LEFT_SHIFT, glfw.KEY_RIGHT_SHIFT):
                self._steer(shift)
            return False
        if not pressed:
            self._keys.discard(key)
        elif not self.flying or not free:
            return False
        else:
            self._keys.add(key)
            self._looking = self._looking or self._held == glfw.MOUSE_BUTTON_RIGHT
            self._dragging = True  # the right button is no click then
        self._steer(shift)
        return pressed

    def let_go(self) -> None:
        """Nothing is held any more: the window lost the keyboard."""
        self._keys.clear()
        self._held = None
        self._gui.region = None
        if self._interacting:
            self._end_interaction()
        self._steer(False)

    def _steer(self, shift: bool) -> None:
        if not self.flying:
            self._keys.clear()
        speed = SHIFT_FASTER if shift else 1.0
        right, rise, forward = (speed * sum(FLIGHT[key][axis] for key in self._keys) for axis in range(3))
        thrust: Thrust = (right, rise, forward)
        if thrust != self._thrust:
            if self._thrust == NO_THRUST:
                self._session.post(commands.RememberView())
            self._thrust = thrust
            self._session.post(commands.Fly(thrust))

    def _select(self, cursor: Pixels) -> None:
        pixel, size = self._on_viewport(cursor)
        if 0 <= pixel[0] < size[0] and 0 <= pixel[1] < size[1]:
            self._session.post(commands.Pick(pixel, size))

    def _selecting(self, button: int, shift: bool, ctrl: bool, alt: bool) -> tuple[str, str]:
        """The shape of the region that a press begins, and how it selects; empty if there is none."""
        left, right = button == glfw.MOUSE_BUTTON_LEFT, button == glfw.MOUSE_BUTTON_RIGHT
        if ctrl and shift and (left or right):
            return "box", "remove" if right else "add" if alt else "replace"
        if self._session.rows.shape and left and not alt:
            return self._session.rows.shape, "add" if shift else "remove" if ctrl else "replace"
        return "", ""

    def _region(self, shape: str, cursor: Pixels) -> DrawnRegion:
        radius = self._session.rows.settings.radius * self._gui.panes[0].height if shape == "brush" else 0.0
        return DrawnRegion(shape, (cursor,), radius)

    def _select_region(self, region: DrawnRegion) -> None:
        points = tuple(self._on_viewport(point)[0] for point in region.points)
        size, visible_only = self._on_viewport((0.0, 0.0))[1], self._session.rows.settings.visible_only
        command = commands.SelectRegion(region.shape, points, size, region.radius, self._mode, visible_only)
        self._session.post(command)

    def _gesture(self, ctrl: bool) -> Gesture | None:
        """What a left drag does to the models, if it is for them."""
        tool = self._session.tool.gesture
        return next(iter(gestures(self._session.stage)), None) if tool is None and ctrl else tool

    def _end_interaction(self) -> None:
        self._interacting = False
        self._session.post(commands.EndInteraction())

    def _change_brush(self, name: str, factor: float) -> None:
        value = getattr(self._session.tool.brush, name) * factor
        self._session.post(commands.SetBrush(name, _within(_LIMITS[name], value)))

    def _on_viewport(self, cursor: Pixels) -> tuple[Pixels, tuple[int, int]]:
        """A pixel of the window as one of the scene's image, and the size of that."""
        viewport = self._gui.panes[0]
        return (cursor[0] - viewport.left, cursor[1] - viewport.top), (viewport.width, viewport.height)

    def _remember_before_scrolling(self) -> None:
        now = time.perf_counter()
        if now - self._scrolled_at > PAUSE:
            self._session.post(commands.RememberView())
        self._scrolled_at = now


def _within(limits: tuple[float, float], value: float) -> float:
    return min(max(value, limits[0]), limits[1])


_LIMITS = {spec.name: (spec.min or 0.0, spec.max or 0.0) for spec in Brush.specs()}
_SELECTING = next((spec.min or 0.0, spec.max or 0.0) for spec in SelectSettings.specs() if spec.name == "radius")
