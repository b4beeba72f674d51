"""`ParametersPanel`: every parameter of the scene's models, layers and view, from their own declarations."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..params import Params, same
from ..scene import Scene
from ..scene.save import named
from ..session import Session
from ..session.commands import ResetParameters, SetParameter
from ..session.parameters import Key
from .base import Panel
from .controls import search_field
from .parameter_menu import ParameterMenu
from .parameter_rows import Group, Row, found, groups, without_effect
from .presets import PresetBar
from .rows import MARK, color, columns, fitted, icon_button, mark, scale, section, show_tooltip
from .script_buttons import draw_buttons
from .theme import ACCENT, DIM, TEXT
from .widgets import edit
from .workspace import Workspace

TOOLTIP_DELAY = 0.5  # seconds over a row
BEYOND = 60.0  # logical pixels drawn above and below the visible part, so that the arrow keys can go there


class Columns(NamedTuple):
    """The layout of a row: x of the label and of the widget, and their widths."""

    label: float
    room: float
    widget: float
    width: float


class ParametersPanel(Panel):
    """A row for each parameter, with a dot if the value is not the scene's; a click on the dot resets it.

    A value is set while a slider moves. One that rebuilds its model waits until the mouse is released, and one that is
    typed until Enter is pressed or the field is left. All that is set while the mouse is held is undone together.
    """

    title = "Parameters"
    icon = icons.ICON_FA_SLIDERS
    side = "right"
    opened = True

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._scene: Scene | None = None
        self._groups: tuple[Group, ...] = ()
        self._bar, self._menu = PresetBar(workspace), ParameterMenu()
        self._search = ""
        self._found: list[tuple[Group, tuple[Row, ...]]] = []
        self._pending: dict[Key, Any] = {}
        self._strokes = count()
        self._stroke = 0
        self._active: Row | None = None
        self._heights: dict[int, float] = {}  # of rows, by their numbers
        self._labels: dict[str, str] = {}  # cut to the room that there is
        self._drawn_for: tuple[float, ...] = ()  # the sizes for which those two are right
        self._changed: tuple[int, frozenset[Key]] = -1, frozenset()  # for which revision of the edits
        self._idle: dict[Key, str] = {}  # parameters without effect as the others are now, and why
        self._hovered: tuple[int, float] = (-1, 0.0)  # a row's number, and since when

    def draw(self, session: Session) -> None:
        if session.scene is not self._scene:
            self._take_scene(session)
        if not imgui.is_mouse_down(0) and self._active is None:
            self._stroke = next(self._strokes)
        draw_buttons(session)
        self._bar.draw(session, self._menu)
        self._draw_search()
        imgui.begin_child("##rows", ImVec2(0.0, 0.0), imgui.ChildFlags_.nav_flattened.value)
        self._draw_groups(session)
        imgui.end_child()
        self._menu.draw(session, self._stroke)

    # what is there ----------------------------------------------------------------------------------------------

    def _take_scene(self, session: Session) -> None:
        self._scene, self._groups = session.scene, groups(session)
        self._pending, self._active = {}, None
        self._heights, self._labels = {}, {}
        self._found = found(self._groups, self._search)

    def _draw_search(self) -> None:
        self._search, changed = search_field(self._search, -1.0)
        if changed:
            self._found = found(self._groups, self._search)

    def _changed_keys(self, session: Session) -> frozenset[Key]:
        revision = session.scene_edits.revision
        if self._changed[0] != revision:
            self._changed = revision, frozenset(session.scene_edits.differing())
            self._idle = without_effect(session)
        return self._changed[1]

    # rows -------------------------------------------------------------------------------------------------------

    def _draw_groups(self, session: Session) -> None:
        layout = self._columns()
        changed, owners = self._changed_keys(session), session.parameters()
        active, self._active = self._active, None
        hovered = imgui.is_window_hovered(imgui.HoveredFlags_.allow_when_blocked_by_active_item.value)
        mouse = imgui.get_mouse_pos() if hovered else None
        for group, rows in self._found:
            kind = "##found" if self._search else "##"  # a search opens all, and leaves the others as they were
            opened = bool(self._search) or group.owner.startswith("models")
            is_open = section(f"{group.title}{kind}{group.owner}", group.note, opened=opened)
            if imgui.is_item_hovered() and imgui.is_mouse_released(1):
                self._menu.open(group)
            if not changed.isdisjoint(group.keys):
                self._mark_heading(group)
            if is_open and group.owner in owners:
                self._draw_rows(session, rows, owners[group.owner], changed, layout, active, mouse)
        if not self._found:
            imgui.text_disabled("no matching parameter")

    def _draw_rows(self, session, rows, params, changed, layout, active, mouse) -> None:
        gap, beyond = imgui.get_style().item_spacing.y, BEYOND * scale()
        top = imgui.get_window_pos().y - beyond
        bottom = top + imgui.get_window_height() + 2 * beyond
        moving, skipped = session.scene_edits.extras.animations, 0.0
        y = imgui.get_cursor_screen_pos().y
        for row in rows:
            height = self._heights.get(row.number, 0.0)
            if height and row is not active and (y + height < top or y > bottom):
                skipped += height + gap
            else:
                if skipped:
                    imgui.dummy(ImVec2(1.0, skipped - gap))
                    skipped = 0.0
                self._draw_row(session, row, params, row.key in changed, row.key in moving, layout, mouse)
                height = imgui.get_cursor_screen_pos().y - gap - y
                self._heights[row.number] = height
            y += height + gap
        if skipped:
            imgui.dummy(ImVec2(1.0, skipped - gap))

    def _draw_row(
        self,
        session: Session,
        row: Row,
        params: Params,
        changed: bool,
        moving: bool,
        layout: Columns,
        mouse: ImVec2 | None,
    ) -> None:
        value = getattr(params, row.spec.name)
        imgui.push_id(row.number)
        top = imgui.get_cursor_screen_pos().y
        if moving:
            if mark("animated; click for its settings", animated=True):
                self._menu.open(row)
        elif changed and mark("click to reset", animated=False):
            session.post(ResetParameters((row.key,)))
        imgui.begin_disabled(row.key in self._idle)
        imgui.set_cursor_pos_x(layout.label)
        imgui.align_text_to_frame_padding()
        imgui.text_colored(TEXT if changed or moving else DIM, self._label(row, layout.room))
        imgui.same_line(layout.widget)
        button = self._gizmo_button(row) if row.spec.gizmo else 0.0
        imgui.set_next_item_width(layout.width - button)
        shown = named(value, session.scene.path.parent) if isinstance(value, Path) else value
        edited = edit(row.spec, row.hint, self._pending.get(row.key, shown), params)
        imgui.end_disabled()
        imgui.pop_id()
        if edited.changed or edited.active or row.key in self._pending:
            self._take(session, row, edited, shown)
        if mouse is not None and top <= mouse.y < imgui.get_cursor_screen_pos().y - imgui.get_style().item_spacing.y:
            self._hover(row)

    def _gizmo_button(self, row: Row) -> float:
        """The button before a position that shows its handles in the viewport; returns its width."""
        workspace, gap = self._workspace, imgui.get_style().item_inner_spacing.x
        held = workspace.gizmo == row.key
        with imgui_ctx.push_style_color(imgui.Col_.text.value, ACCENT if held else DIM):
            if icon_button(f"{icons.ICON_FA_UP_DOWN_LEFT_RIGHT}##gizmo", "move it with handles in the viewport"):
                workspace.gizmo = None if held else row.key
        imgui.same_line(0.0, gap)
        return imgui.get_frame_height() + gap

    def _take(self, session: Session, row: Row, edited: Any, shown: Any) -> None:
        """Set the edited value, unless it has to wait until the user is done."""
        if edited.active:
            self._active = row
        if edited.changed:
            self._pending[row.key] = edited.value
        waits = edited.active and (row.spec.rebuild or imgui.get_io().want_text_input)
        if row.key in self._pending and not waits:
            value = self._pending.pop(row.key)
            if not same(value, shown):
                session.post(SetParameter(*row.key, value, self._stroke))

    def _hover(self, row: Row) -> None:
        """The mouse is over the row: its menu, and after a while what it is about."""
        number, since = self._hovered
        if number != row.number:
            self._hovered = row.number, imgui.get_time()
        elif imgui.is_mouse_released(1):
            self._menu.open(row)
        elif imgui.get_time() - since > TOOLTIP_DELAY and not imgui.is_any_item_active():
            reason = self._idle.get(row.key)
            show_tooltip(f"{reason}\n{row.tooltip}" if reason else row.tooltip)

    # sizes and texts --------------------------------------------------------------------------------------------

    def _columns(self) -> Columns:
        width, unit = imgui.get_content_region_avail().x, scale()
        if self._drawn_for != (width, unit, len(self._groups)):
            self._drawn_for = width, unit, len(self._groups)
            self._labels, self._heights = {}, {}
            self._widest = max(
                (imgui.calc_text_size(row.label).x for group in self._groups for row in group.rows), default=0.0
            )
        left, gap = imgui.get_cursor_pos_x(), MARK * unit
        label = columns(width - gap, self._widest)
        return Columns(left + gap, label - 8 * unit, left + gap + label, width - gap - label)

    _widest = 0.0

    def _label(self, row: Row, room: float) -> str:
        if row.label not in self._labels:
            self._labels[row.label] = fitted(row.label, room)
        return self._labels[row.label]

    @staticmethod
    def _mark_heading(group: Group) -> None:
        """A dot behind the heading: something below it is not as in the scene."""
        low, high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
        x = low.x + imgui.get_tree_node_to_label_spacing() + imgui.calc_text_size(group.title).x + 16 * scale()
        imgui.get_window_draw_list().add_circle_filled(ImVec2(x, (low.y + high.y) / 2), 2.2 * scale(), color(ACCENT))
