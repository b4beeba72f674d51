"""`CameraPanel`: lens, sides, bookmarks, turntable and flight."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session, commands
from ..session.cameras import FASTEST, SIDES, SLOWEST
from .action_table import BY_NAME
from .base import Panel
from .controls import checkbox_row, name_field, post_change, slider_row
from .rows import fact, flat_button, in_rows, section, text_button
from .theme import DIM
from .workspace import Workspace

WIDEST, NARROWEST = 120.0, 5.0  # fields of view on the slider, in degrees
QUICKEST = 90.0  # degrees a second on the slider of the turntable
ABREAST = 3  # sides in a row
JUMPS = {"Reset camera": "reset to the camera in the file", "Frame all": "frame all", "Previous view": "previous view"}


class CameraPanel(Panel):
    """The camera, and the scene's bookmarks."""

    title = "Camera"
    icon = icons.ICON_FA_VIDEO
    side = "right"

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._name = ""

    def draw(self, session: Session) -> None:
        self._draw_views(session)
        _draw_lens(session)
        if section("bookmarks", str(len(session.scene_edits.extras.bookmarks) or "")):
            self._draw_bookmarks(session)
        if section("keyframes", str(len(session.scene_edits.extras.keyframes) or "")):
            self._draw_keyframes(session)
        if section("auto-rotate, fly"):
            _draw_motion(session)
        if section("position", opened=False):
            _draw_position(session)

    def _draw_views(self, session: Session) -> None:
        for name, width in in_rows(JUMPS, ABREAST):
            action = BY_NAME[name]
            imgui.begin_disabled(not action.possible(session, self._workspace))
            if imgui.button(action.icon, ImVec2(width, 0.0)):
                action.perform(session, self._workspace)
            imgui.set_item_tooltip(f"{JUMPS[name]} ({action.shown_keys})")
            imgui.end_disabled()
        for side, width in in_rows(SIDES, ABREAST):
            if imgui.button(side, ImVec2(width, 0.0)):
                session.post(commands.ViewFrom(side))

    def _draw_bookmarks(self, session: Session) -> None:
        gap = imgui.get_style().item_inner_spacing.x
        for name in list(session.scene_edits.extras.bookmarks):
            with imgui_ctx.push_id(name):
                if text_button(name, "go", imgui.get_content_region_avail().x - imgui.get_frame_height() - gap):
                    session.post(commands.GoToBookmark(name))
                imgui.same_line(0.0, gap)
                if flat_button(f"{icons.ICON_FA_XMARK}##drop", "delete"):
                    session.post(commands.DeleteBookmark(name))
        tooltip = "bookmark this view; saving the scene writes it to the file"
        self._name, chosen = name_field("new bookmark…", self._name, tooltip)
        if chosen:
            session.post(commands.AddBookmark(chosen))

    def _draw_keyframes(self, session: Session) -> None:
        gap, frame = imgui.get_style().item_inner_spacing.x, session.clock.heading
        for key, view in list(session.scene_edits.extras.keyframes.items()):
            with imgui_ctx.push_id(str(key)):
                width = imgui.get_content_region_avail().x - imgui.get_frame_height() - gap
                if text_button(f"frame {key:,}", "view", width):
                    session.post(commands.GoToView(view))
                imgui.same_line(0.0, gap)
                if flat_button(f"{icons.ICON_FA_XMARK}##drop", "delete"):
                    session.post(commands.DeleteKeyframe(key))
        width = imgui.get_content_region_avail().x
        if imgui.button(f"{icons.ICON_FA_KEY}  Set at frame {frame:,}###set", ImVec2(width, 0.0)):
            session.post(commands.SetKeyframe())
        imgui.set_item_tooltip("a camera keyframe with this view (K); saving the scene writes it to the file")
        if session.scene_edits.extras.keyframes:
            tooltip = "move the camera through the keyframes as time passes"
            post_change(session, checkbox_row("follow", tooltip, session.cameras.following), commands.FollowKeyframes)


def _draw_lens(session: Session) -> None:
    camera, tooltip = session.cameras.heading, "vertical; the size of the target in the viewport stays the same"
    fov = slider_row("field of view", tooltip, camera.fov, (NARROWEST, WIDEST), "%.1f°")
    post_change(session, fov, commands.SetLens)
    parallel = checkbox_row("orthographic", "parallel projection, without perspective", camera.orthographic)
    post_change(session, parallel, commands.Parallel)


def _draw_motion(session: Session) -> None:
    cameras, ends = session.cameras, (-QUICKEST, QUICKEST)
    rate = slider_row("turntable", "auto-rotate around the target (T)", cameras.turntable, ends, "%.0f °/s")
    post_change(session, rate, lambda rate: commands.Turntable(round(rate)))
    tooltip = "fly with W A S D Q E and look around with the mouse, without holding the right button (V)"
    flying = checkbox_row("flight", tooltip, cameras.flight_mode)
    post_change(session, flying, commands.FlightMode)
    tooltip = "also the wheel while flying; Shift flies four times as fast"
    speed = slider_row("flight speed", tooltip, cameras.fly_speed, (SLOWEST, FASTEST), "%.2f ×", log=True)
    post_change(session, speed or None, lambda speed: commands.FlyFaster(speed / cameras.fly_speed))


def _draw_position(session: Session) -> None:
    camera = session.camera
    for name, position in (("eye", camera.position), ("target", camera.target)):
        fact(name, ", ".join(f"{part:.4g}" for part in position), DIM)
    fact("distance", f"{camera.distance:.4g}", DIM)
