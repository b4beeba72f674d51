"""What a right click on a parameter, or on the heading of several, offers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from imgui_bundle import ImVec2, imgui
from imgui_bundle import icons_fontawesome_6 as icons

from ..params import ParamSpec
from ..scene import Animation
from ..scene.edit import literal
from ..scene.preset_tables import can_be_animated
from ..session import Session
from ..session.command_line import setting_of
from ..session.commands import Animate, Randomize, ResetParameters, SetParameter
from ..session.naming import plain
from ..session.parameters import QUALITY, Key
from ..session.ranges import can_be_random, limited, slider_range
from .controls import edit_row, slider_row
from .parameter_rows import Group, Row
from .rows import color, scale
from .theme import DIM, TEXT

NAME = "##parameter"
WIDTH = 260.0  # of the menu while there are controls in it, in logical pixels
SHAPES = (("sine", icons.ICON_FA_WAVE_SQUARE), ("ramp", icons.ICON_FA_STAIRS), ("noise", icons.ICON_FA_CHART_LINE))
ENDS = "from", "to"  # of an animation's range
_ROOM_FOR_ICON = 8 * " "
_SPECS = {spec.name: spec for spec in Animation.specs()}


class ParameterMenu:
    """One menu for all rows; `seed` is that of the next random values, so that they can be repeated."""

    def __init__(self) -> None:
        self._target: Row | Group | None = None
        self._asked = False
        self.seed = 1

    def open(self, target: Row | Group) -> None:
        """Show it in this frame."""
        self._target, self._asked = target, True

    def randomize(self, session: Session, keys: tuple[Key, ...]) -> None:
        """Random values for some parameters; other ones the next time."""
        session.post(Randomize(keys, self.seed))
        self.seed += 1

    def draw(self, session: Session, stroke: int) -> None:
        """Draw it if it is open. What is changed with one `stroke` is undone together."""
        if self._asked:
            imgui.open_popup(NAME)
            self._asked = False
        target = self._target = self._target if self._is_there(session) else None
        if isinstance(target, Row) and target.key in session.scene_edits.extras.animations:
            imgui.set_next_window_size(ImVec2(WIDTH * scale(), 0.0))
        if target is None or not imgui.begin_popup(NAME):
            return
        if isinstance(target, Row):
            self._draw_row(session, target, stroke)
        else:
            self._draw_group(session, target)
        imgui.end_popup()

    def _is_there(self, session: Session) -> bool:
        """Whether the scene has the target of the menu: it may have been reloaded since the menu was opened."""
        if self._target is None:
            return False
        keys = (self._target.key,) if isinstance(self._target, Row) else self._target.keys
        owners = session.parameters()
        return all(key.owner in owners and key.name in type(owners[key.owner]).model_fields for key in keys)

    def _draw_row(self, session: Session, row: Row, stroke: int) -> None:
        imgui.text_colored(DIM, row.label)
        imgui.separator()
        value = session.scene_edits.value(row.key)
        if chosen(icons.ICON_FA_COPY, "Copy value"):
            imgui.set_clipboard_text(_text(row.spec, value, session))
        if chosen(icons.ICON_FA_TERMINAL, "Copy as --set"):
            imgui.set_clipboard_text(setting_of(session, row.key))
        imgui.separator()
        differs = value != row.original or row.key in session.scene_edits.extras.animations
        if chosen(icons.ICON_FA_ROTATE_LEFT, "Reset", possible=differs):
            session.post(ResetParameters((row.key,)))
        if row.spec.optional and chosen(icons.ICON_FA_ERASER, "Clear", possible=value is not None):
            session.post(SetParameter(*row.key, None))
        if chosen(icons.ICON_FA_DICE, "Randomize", possible=can_be_random(row.spec, row.hint)):
            self.randomize(session, (row.key,))
        if can_be_animated(row.spec) and value is not None:
            self._draw_animation(session, row, value, stroke)

    def _draw_animation(self, session: Session, row: Row, value: Any, stroke: int) -> None:
        animation = session.scene_edits.extras.animations.get(row.key)
        imgui.separator()
        if animation is None:
            for shape, icon in SHAPES:
                if chosen(icon, f"Animate: {shape}"):
                    start = Animation(shape=shape, range=_range(row, value))  # pyright: ignore[reportArgumentType]
                    session.post(Animate(*row.key, start))
            return
        changed = self._draw_controls(row, animation)
        if changed:
            session.post(Animate(*row.key, animation.with_values(changed), stroke))
        if chosen(icons.ICON_FA_STOP, "Stop animation"):
            session.post(Animate(*row.key, None))

    @staticmethod
    def _draw_controls(row: Row, animation: Animation) -> dict[str, Any]:
        """The values that were edited; nothing if what came of it is no range."""
        edits: dict[str, Any] = {}
        found = (_edited_numbers if row.spec.length == 1 else _edited_elements)(row, animation)
        if found is not None:
            edits["range"] = found
        for name in ("shape", "frequency", *(("seed",) if animation.shape == "noise" else ())):
            one = edit_row(name, _SPECS[name].doc, _SPECS[name], None, getattr(animation, name))
            if one.changed:
                edits[name] = one.value
        return edits

    def _draw_group(self, session: Session, group: Group) -> None:
        imgui.text_colored(DIM, group.title)
        imgui.separator()
        changed = [key for key in session.scene_edits.differing() if key in group.keys]
        if chosen(icons.ICON_FA_TERMINAL, "Copy changes as --set", possible=bool(changed)):
            imgui.set_clipboard_text(" ".join(setting_of(session, key) for key in changed))
        if chosen(icons.ICON_FA_ROTATE_LEFT, "Reset all in this group"):
            session.post(ResetParameters(group.keys))
        if chosen(icons.ICON_FA_DICE, f"Randomize all in this group, seed {self.seed}"):
            self.randomize(session, tame(group.rows))


def _edited_numbers(row: Row, animation: Animation) -> tuple[float, float] | None:
    """Sliders for both ends; what they became, if that is a range."""
    before, ends = animation.range, _range(row, animation.range[0])
    moved = [slider_row(name, "", end, ends, "%.4g") for name, end in zip(ENDS, before, strict=True)]
    low, high = (end if new is None else new for end, new in zip(before, moved, strict=True))
    is_range = moved != [None, None] and low < high
    return (limited(row.spec, low), limited(row.spec, high)) if is_range else None


def _edited_elements(row: Row, animation: Animation) -> tuple[Any, Any] | None:
    """The parameter's own widget for both ends; what they became, if they differ."""
    spec = replace(row.spec, words=())
    found = [edit_row(name, "", spec, row.hint, end) for name, end in zip(ENDS, animation.range, strict=True)]
    low, high = (tuple(one.value) for one in found)
    return (low, high) if any(one.changed for one in found) and low != high else None


def tame(rows: tuple[Row, ...]) -> tuple[Key, ...]:
    """Those that may be randomized together: none that rebuilds its model, perhaps a hundred times as large, nor the
    rendering quality.
    """
    rows = tuple(row for row in rows if not row.spec.rebuild and row.key != QUALITY)
    return tuple(row.key for row in rows if can_be_random(row.spec, row.hint))


def chosen(icon: str, label: str, keys: str = "", possible: bool = True) -> bool:
    """An entry of a menu; returns whether it was chosen."""
    corner = imgui.get_cursor_screen_pos()
    pressed = imgui.menu_item_simple(f"{_ROOM_FOR_ICON}{label}", keys, False, possible)
    tint = TEXT if possible else DIM
    imgui.get_window_draw_list().add_text(ImVec2(corner.x, corner.y), color(tint), icon)
    return pressed


def _text(spec: ParamSpec, value: Any, session: Session) -> str:
    """The value as one would type it."""
    value = plain(spec, value, session.scene.path.parent)
    return "" if value is None else value if isinstance(value, str) else literal(value)


def _range(row: Row, value: Any) -> tuple[Any, Any]:
    """The default range of an animation: the slider's, or the value plus and minus half of it.

    A color moves to the complementary one, and all components of a vector move alike.
    """
    if row.spec.kind == "color":
        other = tuple(1.0 - part for part in value)
        return value, other if other != value else (1.0, 1.0, 1.0)
    if row.spec.kind == "vector":
        value = value if isinstance(value, tuple) else (0.0,) * row.spec.length
        low, high = zip(*(_reach(row, part) for part in value), strict=True)
        return low, high
    return _reach(row, value)


def _reach(row: Row, value: float) -> tuple[float, float]:
    ends = slider_range(row.spec, row.hint)
    if ends is not None:
        return ends
    reach = max(abs(value) / 2, 0.5)
    return limited(row.spec, value - reach), limited(row.spec, value + reach)
