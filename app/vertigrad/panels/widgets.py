"""One widget for each kind of parameter, made from its `ParamSpec` alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from imgui_bundle import imgui

from ..params import ParamSpec
from ..scene import UiHint

RANGELESS_SPEED = 0.01  # change for each pixel dragged, as a share of the value, where a parameter has no range


def edit(spec: ParamSpec, hint: UiHint | None, value: Any) -> tuple[bool, Any]:
    """Draw the widget of a parameter; returns whether the user changed it in this frame, and to what."""
    label = (hint.label if hint else None) or spec.label
    changed, new = _WIDGETS[spec.kind](spec, hint, label, value)
    if imgui.is_item_hovered(imgui.HoveredFlags_.for_tooltip):
        imgui.set_tooltip(_tooltip(spec))
    return changed, new


def slider_range(spec: ParamSpec, hint: UiHint | None) -> tuple[float, float] | None:
    """Where the slider ends: the scene's hint before the soft limits before the hard ones; None if one is missing."""
    low = _first(hint.min if hint else None, spec.soft_min, spec.min)
    high = _first(hint.max if hint else None, spec.soft_max, spec.max)
    return None if low is None or high is None else (low, high)


def _first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def _flags(spec: ParamSpec, hint: UiHint | None) -> int:
    scale = (hint.scale if hint else None) or spec.scale
    return imgui.SliderFlags_.logarithmic.value if scale == "log" else imgui.SliderFlags_.none.value


def _tooltip(spec: ParamSpec) -> str:
    limits = [f"at least {spec.min:g}" if spec.min is not None else "", f"at most {spec.max:g}" if spec.max is not None else ""]
    lines = [spec.doc, ", ".join(filter(None, limits)) + (f" {spec.unit}" if spec.unit else ""), f"default {spec.default}"]
    if spec.rebuild:
        lines.append("makes the model anew")
    return "\n".join(line.strip() for line in lines if line.strip())


def _number(spec: ParamSpec, hint: UiHint | None, label: str, value: float) -> tuple[bool, float]:
    text = f"%.4g {spec.unit}".rstrip().replace("%.4g %", "%.4g %%")
    ends = slider_range(spec, hint)
    if ends is None:
        return imgui.drag_float(label, value, max(abs(value), 1.0) * RANGELESS_SPEED, 0.0, 0.0, text)
    return imgui.slider_float(label, value, *ends, text, _flags(spec, hint))


def _integer(spec: ParamSpec, hint: UiHint | None, label: str, value: int) -> tuple[bool, int]:
    ends = slider_range(spec, hint)
    if ends is None:
        return imgui.input_int(label, value)
    return imgui.slider_int(label, value, int(ends[0]), int(ends[1]), "%d", _flags(spec, hint))


def _switch(spec: ParamSpec, hint: UiHint | None, label: str, value: bool) -> tuple[bool, bool]:
    return imgui.checkbox(label, value)


def _choice(spec: ParamSpec, hint: UiHint | None, label: str, value: str) -> tuple[bool, str]:
    at = spec.choices.index(value) if value in spec.choices else 0
    changed, at = imgui.combo(label, at, list(spec.choices))
    return changed, spec.choices[at]


def _text(spec: ParamSpec, hint: UiHint | None, label: str, value: Any) -> tuple[bool, Any]:
    return imgui.input_text(label, str(value or ""), imgui.InputTextFlags_.enter_returns_true)


def _color(spec: ParamSpec, hint: UiHint | None, label: str, value: tuple[float, ...]) -> tuple[bool, Any]:
    changed, new = imgui.color_edit3(label, list(value), imgui.ColorEditFlags_.float)
    return changed, tuple(new)


def _vector(spec: ParamSpec, hint: UiHint | None, label: str, value: tuple[float, ...]) -> tuple[bool, Any]:
    drag = {2: imgui.drag_float2, 3: imgui.drag_float3, 4: imgui.drag_float4}[len(value)]
    changed, new = drag(label, list(value), RANGELESS_SPEED)
    return changed, tuple(new)


def _interval(spec: ParamSpec, hint: UiHint | None, label: str, value: Any) -> tuple[bool, Any]:
    if isinstance(value, str):
        imgui.label_text(label, value)
        return False, value
    low, high = value
    speed = max(abs(high - low), 1e-3) * RANGELESS_SPEED
    changed, low, high = imgui.drag_float_range2(label, low, high, speed)
    return changed and low < high, (low, high)


_WIDGETS: Mapping[str, Callable[[ParamSpec, UiHint | None, str, Any], tuple[bool, Any]]] = {
    "number": _number,
    "angle": _number,
    "integer": _integer,
    "switch": _switch,
    "choice": _choice,
    "text": _text,
    "file": _text,
    "color": _color,
    "vector": _vector,
    "interval": _interval,
}
