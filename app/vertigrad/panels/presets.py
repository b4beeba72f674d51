"""`PresetBar`: the bar above the parameters: undo, presets, A and B, and a menu for all parameters."""

from __future__ import annotations

from imgui_bundle import ImVec2, imgui, imgui_ctx
from imgui_bundle import icons_fontawesome_6 as icons

from ..session import Session, commands
from .action_table import BY_NAME
from .parameter_menu import ParameterMenu, chosen, tame
from .parameter_rows import groups
from .rows import fitted, icon_button, scale, text_button
from .theme import ACCENT, CLEAR, DIM
from .workspace import Workspace

PRESETS, MORE = "##presets", "##more"
LIST_WIDTH = 250.0  # of the list of presets, in logical pixels


class PresetBar:
    """Small buttons in a line; the presets are in a list that drops down."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._typed = ""
        self._renamed: str | None = None  # the preset whose name is being typed
        self._typing = False  # the field for it has the keyboard
        self._current = -1, ""  # for which revision of the edits

    def draw(self, session: Session, menu: ParameterMenu) -> None:
        """Draw it as wide as the window is."""
        history, gap = session.scene_edits.history, imgui.get_style().item_inner_spacing.x
        side, width = imgui.get_frame_height(), imgui.get_content_region_avail().x
        undo = f"undo {history.done[-1].label} (Ctrl+Z)" if history.done else "nothing to undo"
        redo = f"redo {history.undone[-1].label} (Ctrl+Shift+Z)" if history.undone else "nothing to redo"
        if icon_button(icons.ICON_FA_ROTATE_LEFT, undo, bool(history.done)):
            session.post(commands.Undo())
        imgui.same_line(0.0, gap)
        if icon_button(icons.ICON_FA_ROTATE_RIGHT, redo, bool(history.undone)):
            session.post(commands.Redo())
        imgui.same_line(0.0, gap)
        self._draw_presets(session, max(width - 4 * side - 5 * gap - side, side))
        imgui.same_line(0.0, gap)
        self._draw_sides(session, side)
        imgui.same_line(0.0, gap)
        if icon_button(icons.ICON_FA_ELLIPSIS, "all parameters"):
            imgui.open_popup(MORE)
        self._draw_more(session, menu)

    # presets ----------------------------------------------------------------------------------------------------

    def _draw_presets(self, session: Session, width: float) -> None:
        current = self._name(session)
        label = f"{icons.ICON_FA_SWATCHBOOK}  {current or 'presets'}"
        if text_button(label, "presets", width):
            self._renamed, self._typed = None, ""
            imgui.open_popup(PRESETS)
        imgui.set_item_tooltip("named sets of parameter values, saved in the scene file")
        rightmost = imgui.get_io().display_size.x - (LIST_WIDTH + 4) * scale()
        left, below = min(imgui.get_item_rect_min().x, rightmost), imgui.get_item_rect_max().y + 3 * scale()
        imgui.set_next_window_pos(ImVec2(left, below))
        imgui.set_next_window_size(ImVec2(LIST_WIDTH * scale(), 0.0))
        if imgui.begin_popup(PRESETS):
            self._draw_list(session, current)
            imgui.end_popup()

    def _name(self, session: Session) -> str:
        """The name of the preset whose values are the current ones; empty if there is none."""
        revision = session.scene_edits.revision
        if self._current[0] != revision:
            now = session.scene_edits.values()
            presets = session.scene_edits.extras.presets
            fitting = (p.name for p in presets if all(now.get(key) == value for key, value in p.values.items()))
            self._current = revision, next(fitting, "")
        return self._current[1]

    def _draw_list(self, session: Session, current: str) -> None:
        presets = session.scene_edits.extras.presets
        for index, preset in enumerate(presets):
            with imgui_ctx.push_id(f"{index}"):
                if preset.name == self._renamed:
                    self._draw_renaming(session, preset.name)
                else:
                    self._draw_preset(session, preset.name, preset.name == current)
        if not presets:
            imgui.text_disabled("none yet")
        imgui.separator()
        self._draw_new(session)

    def _draw_preset(self, session: Session, name: str, current: bool) -> None:
        side, width = imgui.get_frame_height(), imgui.get_content_region_avail().x
        flags = imgui.SelectableFlags_.allow_overlap.value
        room = width - 3 * side
        with imgui_ctx.push_style_var(imgui.StyleVar_.selectable_text_align.value, ImVec2(0.0, 0.5)):
            clicked, _ = imgui.selectable(fitted(name, room - 8 * scale()), current, flags, ImVec2(room, side))
        if clicked:
            session.post(commands.ApplyPreset(name))
        imgui.push_style_color(imgui.Col_.button.value, CLEAR)
        imgui.push_style_color(imgui.Col_.text.value, DIM)
        imgui.same_line(0.0, 0.0)
        if icon_button(icons.ICON_FA_ARROWS_ROTATE, "update with the current values"):
            session.post(commands.UpdatePreset(name))
        imgui.same_line(0.0, 0.0)
        if icon_button(icons.ICON_FA_PEN, "rename"):
            self._renamed, self._typed, self._typing = name, name, False
        imgui.same_line(0.0, 0.0)
        if icon_button(icons.ICON_FA_TRASH, "delete"):
            session.post(commands.DeletePreset(name))
        imgui.pop_style_color(2)

    def _draw_renaming(self, session: Session, name: str) -> None:
        imgui.set_next_item_width(-1.0)
        if not self._typing:
            imgui.set_keyboard_focus_here()
        self._typing = True
        flags = imgui.InputTextFlags_.enter_returns_true | imgui.InputTextFlags_.auto_select_all
        entered, self._typed = imgui.input_text("##name", self._typed, flags.value)
        if entered or imgui.is_item_deactivated():
            if entered and self._typed.strip() != name:
                session.post(commands.RenamePreset(name, self._typed.strip()))
            self._renamed, self._typed = None, ""

    def _draw_new(self, session: Session) -> None:
        side, gap = imgui.get_frame_height(), imgui.get_style().item_inner_spacing.x
        imgui.set_next_item_width(imgui.get_content_region_avail().x - side - gap)
        flags = imgui.InputTextFlags_.enter_returns_true.value
        typed = "" if self._renamed is not None else self._typed
        entered, typed = imgui.input_text_with_hint("##new", "new preset from current values…", typed, flags)
        if self._renamed is None:
            self._typed = typed
        imgui.same_line(0.0, gap)
        name = self._typed.strip() if self._renamed is None else ""
        if (icon_button(icons.ICON_FA_PLUS, "save preset", bool(name)) or entered) and name:
            session.post(commands.SavePreset(name))
            self._typed = ""

    # sides, and the rest ----------------------------------------------------------------------------------------

    @staticmethod
    def _draw_sides(session: Session, side: float) -> None:
        here = session.scene_edits.extras.side
        for name in ("A", "B"):
            if name == "B":
                imgui.same_line(0.0, 1.0)
            with imgui_ctx.push_style_color(imgui.Col_.text.value, ACCENT if name == here else DIM):
                if imgui.button(name, ImVec2(side, 0.0)) and name != here:
                    session.post(commands.SwitchSide())
            other = "its values when last shown" if session.scene_edits.extras.other else "as in the file"
            imgui.set_item_tooltip("active" if name == here else f"switch to {name}: {other} (X)")

    def _draw_more(self, session: Session, menu: ParameterMenu) -> None:
        if not imgui.begin_popup(MORE):
            return
        for name in ("Save", "Save as…", "", "Copy as command line", ""):
            action = BY_NAME.get(name)
            if action is None:
                imgui.separator()
            elif chosen(action.icon, name, action.shown_keys, action.possible(session, self._workspace)):
                action.perform(session, self._workspace)
        if chosen(icons.ICON_FA_ROTATE_LEFT, "Reset all to file", possible=bool(session.scene_edits.differing())):
            session.post(commands.ResetParameters())
        if chosen(icons.ICON_FA_DICE, f"Randomize all, seed {menu.seed}"):
            menu.randomize(session, tuple(key for group in groups(session) for key in tame(group.rows)))
        imgui.end_popup()
