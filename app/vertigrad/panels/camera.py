"""`CameraPanel`: lens, sides, bookmarks, turntable and flight."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.cameras import FASTEST, SIDES, SLOWEST
from ..session.commands import (
    AddBookmark,
    Command,
    DeleteBookmark,
    FlightMode,
    FlyFaster,
    FrameAll,
    GoToBookmark,
    Home,
    Parallel,
    PreviousView,
    SetLens,
    Turntable,
    ViewFrom,
)
from .base import Panel
from .rows import fact, fitted, labeled, section
from .slider import slide_number
from .theme import CLEAR, DIM

WIDEST, NARROWEST = 120.0, 5.0  # fields of view on the slider, in degrees
QUICKEST = 90.0  # degrees a second on the slider of the turntable
ABREAST = 3  # sides in a row


class CameraPanel(Panel):
    """The camera, and the scene's bookmarks."""

    title = "Camera"
    icon = icons.ICON_FA_VIDEO
    side = "right"
    opened = False

    def __init__(self) -> None:
        self._name = ""

    def draw(self, session: Session) -> None:
        self._draw_views(session)
        self._draw_lens(session)
        if section("bookmarks", str(len(session.scene_edits.extras.bookmarks) or "")):
            self._draw_bookmarks(session)
        if section("auto-rotate, fly"):
            _draw_motion(session)
        if section("position", opened=False):
            _draw_place(session)

    def _draw_views(self, session: Session) -> None:
        jumps: tuple[tuple[str, str, Command], ...] = (
            (f"{icons.ICON_FA_HOUSE}", "reset to the camera in the file (H)", Home()),
            (f"{icons.ICON_FA_EXPAND}", "frame all (F)", FrameAll()),
            (f"{icons.ICON_FA_ARROW_LEFT}", "previous view (Backspace)", PreviousView()),
        )
        width = (imgui.get_content_region_avail().x - imgui.get_style().item_inner_spacing.x * (ABREAST - 1)) / ABREAST
        for at, (word, meaning, command) in enumerate(jumps):
            imgui.begin_disabled(command == PreviousView() and not session.cameras.can_go_back)
            if _cell(word, at, width):
                session.post(command)
            imgui.set_item_tooltip(meaning)
            imgui.end_disabled()
        for at, side in enumerate(SIDES):
            if _cell(side, at, width):
                session.post(ViewFrom(side))

    def _draw_lens(self, session: Session) -> None:
        camera = session.cameras.heading
        with labeled("field of view", "vertical; the size of the target in the viewport stays the same"):
            changed, fov = slide_number(camera.fov, (NARROWEST, WIDEST), "%.1f°", log=False)
        if changed:
            session.post(SetLens(fov))
        with labeled("orthographic", "parallel projection, without perspective"):
            changed, parallel = imgui.checkbox("##parallel", camera.orthographic)
        if changed:
            session.post(Parallel(parallel))

    def _draw_bookmarks(self, session: Session) -> None:
        button, gap = imgui.get_frame_height(), imgui.get_style().item_inner_spacing.x
        for name in list(session.scene_edits.extras.bookmarks):
            imgui.push_id(name)
            width = imgui.get_content_region_avail().x - button - gap
            imgui.push_style_var(imgui.StyleVar_.button_text_align.value, ImVec2(0.0, 0.5))
            if imgui.button(f"{fitted(name, width - 2 * gap)}##go", ImVec2(width, 0.0)):
                session.post(GoToBookmark(name))
            imgui.pop_style_var()
            imgui.same_line(0.0, gap)
            imgui.push_style_color(imgui.Col_.button.value, CLEAR)
            if imgui.button(f"{icons.ICON_FA_XMARK}##drop", ImVec2(button, 0.0)):
                session.post(DeleteBookmark(name))
            imgui.pop_style_color()
            imgui.set_item_tooltip("delete")
            imgui.pop_id()
        self._draw_new_bookmark(session)

    def _draw_new_bookmark(self, session: Session) -> None:
        button, gap = imgui.get_frame_height(), imgui.get_style().item_inner_spacing.x
        imgui.set_next_item_width(imgui.get_content_region_avail().x - button - gap)
        flags = imgui.InputTextFlags_.enter_returns_true.value
        entered, self._name = imgui.input_text_with_hint("##name", "new bookmark…", self._name, flags)
        imgui.same_line(0.0, gap)
        pressed = imgui.button(f"{icons.ICON_FA_PLUS}##keep", ImVec2(button, 0.0))
        imgui.set_item_tooltip("bookmark this view; saving the scene writes it to the file")
        if (entered or pressed) and self._name.strip():
            session.post(AddBookmark(self._name.strip()))
            self._name = ""


def _draw_motion(session: Session) -> None:
    cameras = session.cameras
    with labeled("turntable", "auto-rotate around the target (T)"):
        changed, rate = slide_number(cameras.turntable, (-QUICKEST, QUICKEST), "%.0f °/s", log=False)
    if changed:
        session.post(Turntable(round(rate)))
    with labeled("flight", "fly with W A S D Q E and look around with the mouse, without holding the right button (V)"):
        changed, flying = imgui.checkbox("##flight", cameras.flight_mode)
    if changed:
        session.post(FlightMode(flying))
    with labeled("flight speed", "also the wheel while flying; Shift flies four times as fast"):
        changed, speed = slide_number(cameras.fly_speed, (SLOWEST, FASTEST), "%.2f ×", log=True)
    if changed and speed > 0.0:
        session.post(FlyFaster(speed / cameras.fly_speed))


def _draw_place(session: Session) -> None:
    camera = session.camera
    for name, place in (("eye", camera.position), ("target", camera.target)):
        fact(name, ", ".join(f"{part:.4g}" for part in place), DIM)
    fact("distance", f"{camera.distance:.4g}", DIM)


def _cell(word: str, at: int, width: float) -> bool:
    """A button, `ABREAST` of them in a row."""
    if at % ABREAST:
        imgui.same_line(0.0, imgui.get_style().item_inner_spacing.x)
    return imgui.button(word, ImVec2(width, 0.0))
