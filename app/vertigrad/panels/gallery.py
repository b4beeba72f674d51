"""The gallery: scenes to choose from, by their thumbnails."""

from __future__ import annotations

from pathlib import Path

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session
from ..session.commands import Open
from .controls import search_field
from .rows import button_width, color, fitted, scale, wrapped
from .theme import ACCENT, BAR, DIM, FIELD, PANEL, TEXT, bold
from .thumbnails import SceneEntry, Thumbnails, existing, packaged
from .windows import centered, modal
from .workspace import Workspace

NAME = "##gallery"
LARGEST = 1060.0, 720.0  # of the gallery, in logical pixels
CARD, TEXT_HEIGHT = 240.0, 72.0  # least width of a card; height of what stands below its thumbnail
SHAPE = 9 / 16  # height of a thumbnail relative to its width
HEADING_SIZE = 20.0


class Gallery:
    """A window over everything else: cards of the packaged scenes and of recent files, with a search box.

    Arrows move from card to card, Enter opens one, Escape closes the gallery.
    """

    def __init__(self, thumbnails: Thumbnails) -> None:
        self._thumbnails = thumbnails
        self._open = False
        self._search = ""
        self._packaged: list[SceneEntry] = []
        self._recent: list[SceneEntry] = []
        self._may_load = False  # a thumbnail may be loaded in this frame: one in each, so that none takes long

    def draw(self, session: Session, workspace: Workspace) -> None:
        """Draw it if the workspace has it open."""
        if workspace.gallery != self._open:
            self._open = workspace.gallery
            self._turn(workspace)
        if not self._open:
            return
        imgui.set_next_window_size(centered(*LARGEST, (0.92, 0.9)))
        with modal(NAME, padding=ImVec2(20 * scale(), 16 * scale())) as is_open:
            chosen = self._draw_content(session, workspace) if is_open else None
            if chosen is not None:
                session.post(Open(chosen))
            closed = chosen is not None or not workspace.gallery or imgui.is_key_pressed(imgui.Key.escape, False)
            if is_open and closed:
                imgui.close_current_popup()
            workspace.gallery = is_open and not closed

    def _turn(self, workspace: Workspace) -> None:
        """It was opened or closed."""
        if self._open:
            imgui.open_popup(NAME)
            self._search, self._packaged, self._recent = "", packaged(), existing(workspace.recent)
        else:
            self._thumbnails.forget()

    def _draw_content(self, session: Session, workspace: Workspace) -> Path | None:
        """Returns the scene that was chosen."""
        self._may_load = True
        entered = self._draw_head(workspace)
        imgui.begin_child("##cards", ImVec2(0.0, 0.0), imgui.ChildFlags_.nav_flattened.value)
        chosen = self._draw_section("Recent files", self._recent, session)
        chosen = self._draw_section("Scenes", self._packaged, session) or chosen
        imgui.end_child()
        first = next((one for one in (*self._recent, *self._packaged) if one.fits(self._search)), None)
        return first.path if entered and first else chosen

    def _draw_head(self, workspace: Workspace) -> bool:
        """Title, search box and the button for other files; returns whether Enter was pressed in the search box."""
        right = imgui.get_cursor_pos_x() + imgui.get_content_region_avail().x
        with imgui_ctx.push_font(bold(), HEADING_SIZE):
            imgui.align_text_to_frame_padding()
            imgui.text_unformatted("Vertigrad")
        label = f"{icons.ICON_FA_FOLDER_OPEN}  Open file…"
        button, gap = button_width(label), 10 * scale()
        width = min(max(right - button - imgui.calc_text_size("Vertigrad").x * 1.6 - 4 * gap, 60.0), 300 * scale())
        imgui.same_line(right - button - width - gap)
        if imgui.is_window_appearing():
            imgui.set_keyboard_focus_here()
        flags = imgui.InputTextFlags_.enter_returns_true
        self._search, entered = search_field(self._search, width, flags=flags)
        imgui.same_line(right - button)
        if imgui.button(label):
            workspace.gallery, workspace.browser = False, True
        imgui.dummy(ImVec2(0.0, 4 * scale()))
        return entered

    def _draw_section(self, heading: str, entries: list[SceneEntry], session: Session) -> Path | None:
        fitting = [one for one in entries if one.fits(self._search)]
        if not fitting:
            if entries and not self._recent:
                imgui.text_disabled("no matching scene")
            return None
        imgui.text_colored(DIM, heading)
        imgui.dummy(ImVec2(0.0, 2 * scale()))
        gap, room = 14 * scale(), imgui.get_content_region_avail().x
        across = max(1, int((room + gap) / (CARD * scale() + gap)))
        width = int((room - gap * (across - 1)) / across)
        thumbnail = width, round(width * SHAPE)
        self._thumbnails.resize(thumbnail)
        chosen = None
        for index, one in enumerate(fitting):
            if index % across:
                imgui.same_line(0.0, gap)
            if self._draw_card(one, thumbnail, one.path == session.scene.path):
                chosen = one.path
        imgui.dummy(ImVec2(0.0, 8 * scale()))
        return chosen

    def _draw_card(self, one: SceneEntry, thumbnail: tuple[int, int], running: bool) -> bool:
        """Returns whether it was chosen."""
        width, height = thumbnail
        low, unit = imgui.get_cursor_screen_pos(), scale()
        size = ImVec2(width, height + TEXT_HEIGHT * unit)
        imgui.push_id(str(one.path))
        chosen = imgui.invisible_button("##card", size, imgui.ButtonFlags_.enable_nav.value)
        imgui.pop_id()
        if not imgui.is_item_visible():
            return chosen
        focused = imgui.is_item_focused() and imgui.get_io().nav_visible
        lit = imgui.is_item_hovered() or focused
        imgui.set_item_tooltip(str(one.path))
        draw, rounding, high = imgui.get_window_draw_list(), 7 * unit, ImVec2(low.x + size.x, low.y + size.y)
        draw.add_rect_filled(low, high, color(FIELD if lit else PANEL), rounding)
        self._draw_thumbnail(one, low, ImVec2(high.x, low.y + height), rounding)
        left, text_width, top = low.x + 12 * unit, width - 24 * unit, low.y + height + 9 * unit
        title = fitted(one.title, text_width)
        draw.add_text(ImVec2(left, top), color(ACCENT if running else TEXT), title)
        below = ImVec2(left, top + imgui.get_text_line_height() + 2 * unit)
        description = wrapped(one.description or one.path.name, text_width, lines=2)
        draw.add_text(below, color(DIM), description)
        if lit or running:
            draw.add_rect(low, high, color(ACCENT), rounding, (2.0 if lit else 1.0) * unit)
        return chosen

    def _draw_thumbnail(self, one: SceneEntry, low: ImVec2, high: ImVec2, rounding: float) -> None:
        draw, corners = imgui.get_window_draw_list(), imgui.ImDrawFlags_.round_top.value
        known = self._thumbnails.knows(one.path)
        texture = self._thumbnails.of(one.path, self._may_load)
        self._may_load = self._may_load and known
        if texture is not None:
            white = color(imgui.ImVec4(1.0, 1.0, 1.0, 1.0))
            draw.add_image_rounded(texture, low, high, ImVec2(0, 0), ImVec2(1, 1), white, rounding, corners)
            return
        draw.add_rect_filled(low, high, color(BAR), rounding, corners)
        size = imgui.calc_text_size(icons.ICON_FA_CUBE)
        middle = ImVec2((low.x + high.x - size.x) / 2, (low.y + high.y - size.y) / 2)
        draw.add_text(middle, color(DIM), icons.ICON_FA_CUBE)
