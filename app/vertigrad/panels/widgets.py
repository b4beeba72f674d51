"""One widget for each kind of parameter, built from its `ParamSpec` and the scene's hint alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from imgui_bundle import ImVec2, imgui

from ..params import Auto, Params, ParamSpec
from ..scene import UiHint
from ..session.ranges import is_log, slider_range
from .curve_editor import edit_curve
from .rows import button_width, text_button
from .slider import LARGEST_FLOAT, LARGEST_INT, slide_integer, slide_number

DRAG_SPEED = 0.005  # change for each pixel dragged, relative to the value, where a parameter has no range
IN_A_LINE = 3  # elements of a vector
FEW = 10_000  # numbers below it are written with four digits, those above without a fraction


class Edit(NamedTuple):
    """The result of a widget in this frame. `active`: the user holds it, or types into it."""

    value: Any
    changed: bool
    active: bool


def edit(spec: ParamSpec, hint: UiHint | None, value: Any, owner: Params | None = None) -> Edit:
    """Draw the widget of a parameter, as wide as the next item is to be; files come and go as text.

    `owner` has the other parameters, such as the colormap of a curve.
    """
    imgui.begin_group()
    if spec.curve and value is not None:
        changed, value = edit_curve(value, owner)
    elif value is None and spec.kind not in ("text", "file"):
        changed = imgui.button("not set##set", ImVec2(imgui.calc_item_width(), 0.0))
        value = _start(spec, hint) if changed else None
    else:
        changed, value = _WIDGETS[spec.kind](spec, hint, value)
    imgui.end_group()
    return Edit(value, changed, imgui.is_item_active())


def explanation(spec: ParamSpec) -> str:
    """The tooltip of a parameter."""
    low = f"at least {written(spec.min)}" if spec.min is not None else ""
    high = f"at most {written(spec.max)}" if spec.max is not None else ""
    limits = ", ".join(filter(None, (low, high)))
    lines = [
        spec.doc,
        f"{limits}{_suffix(spec)}" if limits else "",
        f"default {written(spec.default)}" if spec.default is not None else "",
        "a change rebuilds the model" if spec.rebuild else "",
        "Ctrl+click to type" if spec.kind in ("number", "angle", "integer") else "",
    ]
    return "\n".join(filter(None, lines))


def written(value: Any) -> str:
    """A value in few words."""
    match value:
        case bool():
            return "on" if value else "off"
        case Auto():
            return f"auto: {value:,}"
        case float():
            return f"{value:.6g}"
        case tuple():
            return ", ".join(written(element) for element in value)
        case PurePath():
            return value.name
    return str(value)


def _suffix(spec: ParamSpec) -> str:
    return "°" if spec.unit == "degrees" else f" {spec.unit}".rstrip()


def _format(spec: ParamSpec, value: float) -> str:
    """For printf."""
    return ("%.4g" if abs(value) < FEW else "%.0f") + _suffix(spec).replace("%", "%%")


def _plain(value: float) -> float:
    """The shortest number that is this one in 32 bits: 0.3, not 0.30000001192092896."""
    return float(str(np.float32(value)))


def _hard_limits(spec: ParamSpec) -> tuple[float, float]:
    """For a widget to be dragged without end; equal means none."""
    if spec.min is None and spec.max is None:
        return 0.0, 0.0
    low = -LARGEST_FLOAT if spec.min is None else spec.min
    return low, LARGEST_FLOAT if spec.max is None else spec.max


def _number(spec: ParamSpec, hint: UiHint | None, value: float) -> tuple[bool, float]:
    ends, text = slider_range(spec, hint), _format(spec, value)
    if ends is None:
        speed = max(abs(value), 0.1) * DRAG_SPEED
        changed, new = imgui.drag_float("##value", value, speed, *_hard_limits(spec), text)
    else:
        changed, new = slide_number(value, ends, text, is_log(spec, hint))
    return changed, _plain(new) if changed else value


def _integer(spec: ParamSpec, hint: UiHint | None, value: int) -> tuple[bool, Any]:
    if not spec.auto:
        return _whole(spec, hint, value, "%d" + _suffix(spec).replace("%", "%%"))
    is_auto = isinstance(value, Auto)
    shown, wide = written(value) if is_auto else "%d", imgui.calc_item_width()
    gap = imgui.get_style().item_inner_spacing.x
    imgui.set_next_item_width(wide - button_width("auto") - gap)
    changed, new = _whole(spec, hint, value, shown + _suffix(spec).replace("%", "%%"))
    imgui.same_line(0.0, gap)
    return (True, "auto") if _word_button("auto", is_auto) and not is_auto else (changed, new)


def _whole(spec: ParamSpec, hint: UiHint | None, value: int, text: str) -> tuple[bool, int]:
    ends = slider_range(spec, hint)
    if ends is not None and max(abs(ends[0]), abs(ends[1]), abs(value)) <= LARGEST_INT:
        return slide_integer(value, (int(ends[0]), int(ends[1])), text, is_log(spec, hint))
    flags = imgui.InputTextFlags_.enter_returns_true | imgui.InputTextFlags_.chars_decimal
    entered, typed = imgui.input_text("##value", str(value), flags)
    try:
        return entered, int(typed)
    except ValueError:
        return False, value


def _switch(spec: ParamSpec, hint: UiHint | None, value: bool) -> tuple[bool, bool]:
    return imgui.checkbox("##value", value)


def _choice(spec: ParamSpec, hint: UiHint | None, value: str) -> tuple[bool, str]:
    at = spec.choices.index(value) if value in spec.choices else 0
    changed, at = imgui.combo("##value", at, list(spec.choices), 12)
    return changed, spec.choices[at]


def _text(spec: ParamSpec, hint: UiHint | None, value: str | None) -> tuple[bool, str | None]:
    if spec.choices:
        return _choice(spec, hint, value or "")
    entered, new = imgui.input_text_with_hint(
        "##value", "not set", value or "", imgui.InputTextFlags_.enter_returns_true.value
    )
    return entered and new != (value or ""), (new or None) if spec.optional else new


def _file(spec: ParamSpec, hint: UiHint | None, value: str | None) -> tuple[bool, str | None]:
    """The file's name; a click turns it into a field with all of the path."""
    storage, key, width = imgui.get_state_storage(), imgui.get_id("typing"), imgui.calc_item_width()
    state = storage.get_int(key)  # 0: the name, 1: the field, 2: the field in its first frame
    if not state:
        if text_button(PurePath(value or "not set").name, "name", width):
            storage.set_int(key, 2)
        return False, value or ""
    if state == 2:
        imgui.set_keyboard_focus_here()
    imgui.set_next_item_width(width)
    flags = imgui.InputTextFlags_.enter_returns_true | imgui.InputTextFlags_.auto_select_all
    entered, new = imgui.input_text("##value", value or "", flags)
    storage.set_int(key, 0 if entered or imgui.is_item_deactivated() else 1)
    return entered and new != (value or ""), (new or None) if spec.optional else new


def _color(spec: ParamSpec, hint: UiHint | None, value: tuple[float, ...]) -> tuple[bool, Any]:
    flags = imgui.ColorEditFlags_.display_hex | imgui.ColorEditFlags_.no_options
    changed, new = imgui.color_edit3("##value", list(value), flags.value)
    return changed, tuple(_of_256(component) for component in new) if changed else value


def _of_256(component: float) -> float:
    """The nearest of the 256 values of a component in "#rrggbb"."""
    return round(min(max(component, 0.0), 1.0) * 255) / 255


def _vector(spec: ParamSpec, hint: UiHint | None, value: Any) -> tuple[bool, Any]:
    return _word_or(spec, value, lambda: _elements(spec, slider_range(spec, hint), value))


def _interval(spec: ParamSpec, hint: UiHint | None, value: Any) -> tuple[bool, Any]:
    changed, new = _word_or(spec, value, lambda: _elements(spec, None, value))
    return (False, value) if isinstance(new, tuple) and not new[0] < new[1] else (changed, new)


def _elements(spec: ParamSpec, ends: tuple[float, float] | None, values: tuple[float, ...]) -> tuple[bool, Any]:
    """Numbers side by side, at most `IN_A_LINE` of them."""
    changed, new = False, list(values)
    across, gap = min(IN_A_LINE, len(new)), imgui.get_style().item_inner_spacing.x
    width = (imgui.calc_item_width() - gap * (across - 1)) / across
    low, high = ends or (None, None)
    plain = ParamSpec(kind="number", min=spec.min, max=spec.max, slider_min=low, slider_max=high)
    for index, element in enumerate(new):
        if index % across:
            imgui.same_line(0.0, gap)
        imgui.push_id(index)
        imgui.set_next_item_width(width)
        one, new[index] = _number(plain, None, element)
        imgui.pop_id()
        changed = changed or one
    return changed, tuple(new)


def _word_or(spec: ParamSpec, value: Any, numbers: Callable[[], tuple[bool, Any]]) -> tuple[bool, Any]:
    """The widget of the numbers, with a button for the words that may replace them, one after another."""
    if not spec.words:
        return numbers()
    taken, gap = isinstance(value, str), imgui.get_style().item_inner_spacing.x
    word = value if taken else spec.words[0]
    width = imgui.calc_item_width() - button_width(word) - gap
    changed = False
    if taken:
        imgui.begin_disabled()
        imgui.button("##none", ImVec2(width, 0.0))
        imgui.end_disabled()
    else:
        imgui.set_next_item_width(width)
        changed, value = numbers()
    imgui.same_line(0.0, gap)
    if _word_button(word, taken):
        following = spec.words[spec.words.index(word) + taken :]
        return True, following[0] if following else _some_numbers(spec)
    return changed, value


def _word_button(word: str, taken: bool) -> bool:
    """A button for a word that may replace a value, and does if it is `taken`."""
    if taken:
        imgui.push_style_color(imgui.Col_.text.value, imgui.get_style_color_vec4(imgui.Col_.check_mark.value))
    pressed = imgui.button(word)
    if taken:
        imgui.pop_style_color()
    return pressed


def _start(spec: ParamSpec, hint: UiHint | None) -> Any:
    """The first value of a parameter that was not set."""
    low = (slider_range(spec, hint) or (spec.min or 0.0, 0.0))[0]
    match spec.kind:
        case "switch":
            return True
        case "choice":
            return spec.choices[0]
        case "vector" | "interval":
            return _some_numbers(spec)
        case "color":
            return (1.0, 1.0, 1.0)
        case "integer":
            return int(low)
    return float(low)


def _some_numbers(spec: ParamSpec) -> tuple[float, ...]:
    """The first numbers after a word was removed."""
    if isinstance(spec.default, tuple):
        return spec.default
    low = 0.0 if spec.min is None else spec.min
    high = low + 1.0 if spec.max is None else spec.max
    return (low, high) if spec.kind == "interval" else (low,) * spec.length


_WIDGETS: Mapping[str, Callable[[ParamSpec, UiHint | None, Any], tuple[bool, Any]]] = {
    "number": _number,
    "angle": _number,
    "integer": _integer,
    "switch": _switch,
    "choice": _choice,
    "text": _text,
    "file": _file,
    "color": _color,
    "vector": _vector,
    "interval": _interval,
}
