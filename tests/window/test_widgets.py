"""Widgets of every type of parameter, in a GUI without window and GPU: input is sent to ImGui directly."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from imgui_bundle import ImVec2, imgui

from vertigrad.models import registry
from vertigrad.panels.rows import fitted, fitted_end
from vertigrad.panels.slider import filled_fraction
from vertigrad.panels.theme import add_fonts, set_style
from vertigrad.panels.widgets import Edit, edit, explanation, slider_range
from vertigrad.params import (
    ParamSpec,
    angle,
    choice,
    color,
    file,
    integer,
    interval,
    number,
    switch,
    text,
    vector,
)
from vertigrad.params.declare import spec_of
from vertigrad.renderer.layers.registry import types as layer_types
from vertigrad.renderer.view import View
from vertigrad.scene import UiHint

POSITION, WIDTH = (20.0, 20.0), 200.0


class Bench:
    """One widget in a window, and its user."""

    def __init__(self, declared: Any, value: Any, hint: UiHint | None = None):
        self.spec = spec_of("thing", declared)
        self.value, self.hint, self.edits = value, hint, list[Edit]()
        self.io = imgui.get_io()
        self.low = self.high = ImVec2(0.0, 0.0)
        self.frames(3)

    def frames(self, count: int = 4) -> list[Any]:
        """The values set in these frames."""
        start = len(self.edits)
        for _ in range(count):
            imgui.new_frame()
            imgui.set_next_window_pos(ImVec2(0.0, 0.0))
            imgui.begin("bench")
            imgui.set_cursor_pos(ImVec2(*POSITION))
            imgui.set_next_item_width(WIDTH)
            self.edits.append(edit(self.spec, self.hint, self.value))
            self.low, self.high = imgui.get_item_rect_min(), imgui.get_item_rect_max()
            imgui.end()
            imgui.render()
            if self.edits[-1].changed:
                self.value = self.edits[-1].value
        return [edited.value for edited in self.edits[start:] if edited.changed]

    def move(self, share: float) -> list[Any]:
        x = self.low.x + share * (self.high.x - self.low.x)
        self.io.add_mouse_pos_event(x, (self.low.y + self.high.y) / 2)
        return self.frames()

    def button(self, down: bool) -> list[Any]:
        self.io.add_mouse_button_event(0, down)
        return self.frames()

    def click(self, share: float = 0.5) -> list[Any]:
        return self.move(share) + self.button(True) + self.button(False)

    def drag(self, start: float, end: float) -> list[Any]:
        return self.move(start) + self.button(True) + self.move(end) + self.button(False)

    def type(self, keys: str, enter: bool = True) -> list[Any]:
        """Replace the text of the focused field."""
        for key in (imgui.Key.mod_ctrl, imgui.Key.a):
            self.io.add_key_event(key, True)
        self.frames()
        for key in (imgui.Key.a, imgui.Key.mod_ctrl):
            self.io.add_key_event(key, False)
        self.io.add_input_characters_utf8(keys)
        values = self.frames()
        if not enter:
            return values
        self.io.add_key_event(imgui.Key.enter, True)
        values += self.frames()
        self.io.add_key_event(imgui.Key.enter, False)
        return values + self.frames()

    def ctrl_click(self, share: float = 0.5) -> list[Any]:
        self.io.add_key_event(imgui.Key.mod_ctrl, True)
        values = self.click(share)
        self.io.add_key_event(imgui.Key.mod_ctrl, False)
        return values + self.frames()


@pytest.fixture
def bench() -> Iterator[Callable[..., Bench]]:
    context = imgui.create_context()
    imgui.set_current_context(context)
    io = imgui.get_io()
    io.set_ini_filename("")
    io.display_size, io.delta_time = ImVec2(400.0, 300.0), 0.05
    io.backend_flags |= imgui.BackendFlags_.renderer_has_textures.value
    add_fonts()
    set_style(1.0)
    yield Bench
    imgui.destroy_context(context)


WIDEST = -3.4028234663852886e38, 3.4028234663852886e38
DECLARED: dict[str, tuple[Any, Any]] = {
    "number": (number(1.0, min=0.0, max=2.0), 0.5),
    "number without a range": (number(1.0), -1e30),
    "number with one end": (number(1.0, min=0.0), 1e38),
    "number over all floats": (number(1.0, min=WIDEST[0], max=WIDEST[1]), 1e38),
    "log number": (number(1.0, min=1e-30, max=1e30, scale="log"), 1e-3),
    "log number from zero": (number(1.0, min=0.0, max=1e4, scale="log"), 0.0),
    "number outside its slider": (number(1.0, min=-10.0, max=10.0, slider_min=0.0, slider_max=1.0), 7.5),
    "number with a unit of percent": (number(1.0, min=0.0, max=100.0, unit="% of all"), 3.0),
    "angle": (angle(0.0, min=-180.0, max=180.0), 45.0),
    "integer": (integer(5, min=0, max=10), 3),
    "log integer": (integer(5, min=1, max=1 << 20, scale="log"), 1000),
    "integer of 32 bits": (integer(5, min=0, max=2**32 - 1), 2**32 - 1),
    "integer without a range": (integer(5), -(2**31)),
    "switch": (switch(True), False),
    "choice": (choice("a", ("a", "b")), "b"),
    "text": (text("a"), "Grüße, κόσμε"),
    "text not given": (text(None), None),
    "number not given": (number(None, min=0.0), None),
    "color": (color("#123456"), (0.1, 0.5, 1.0)),
    "vector": (vector((0.0, 0.0, 0.0)), (1.0, -2.0, 3e10)),
    "vector of seven": (vector((0.0,) * 7, length=7, min=0.0, max=1.0), (0.5,) * 7),
    "vector as a word": (vector((0.0, 0.0), length=2, words=("auto",)), "auto"),
    "interval": (interval((0.0, 1.0)), (0.25, 0.5)),
    "interval as a word": (interval("auto", words=("auto",)), "auto"),
    "file": (file("a.toml", suffixes=[".toml"]), "folder/a.toml"),
    "file not given": (file(None), None),
}


@pytest.mark.parametrize("kind", DECLARED)
def test_a_widget_changes_nothing_without_input_and_fits_its_width(bench, kind: str):
    declared, value = DECLARED[kind]
    one = bench(declared, value)
    assert not any(edited.changed or edited.active for edited in one.edits) and one.value == value
    assert one.move(0.5) == []
    assert one.high.x - one.low.x <= WIDTH + 0.5


def test_every_parameter_has_a_widget_and_a_tooltip(bench):
    owners: list[Any] = [View, *(layer.Style for layer in layer_types().values())]
    owners += [kind.Params for kind in registry.types().values()]
    assert len(owners) >= 5
    for owner in owners:
        for name, field in owner.model_fields.items():
            spec: ParamSpec = spec_of(name, field)
            default = spec.default
            bench(field, str(default) if isinstance(default, Path) else default)
            assert spec.doc and explanation(spec).startswith(spec.doc)


def test_slider_over_its_whole_range(bench):
    one = bench(number(1.0, min=-1.0, max=3.0), 0.0)
    values = one.drag(0.25, 1.5)
    assert values[-1] == one.value == 3.0
    one.drag(0.9, -0.5)
    assert one.value == -1.0


@pytest.mark.parametrize("position", [0.05, 0.3, 0.5, 0.8])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_bar_is_filled_up_to_the_mouse(bench, position: float, scale: str):
    one = bench(number(1.0, min=1e-4, max=1.0, scale=scale), 1.0)
    one.click(position)
    assert one.value == pytest.approx({"linear": position, "log": 1e-4 ** (1 - position)}[scale], rel=0.5, abs=0.03)
    assert filled_fraction(one.value, 1e-4, 1.0, scale == "log") == pytest.approx(position, abs=0.03)


def test_the_bar_is_empty_for_values_outside_the_range():
    assert filled_fraction(0.5, 0.0, 1.0, log=True) is None and filled_fraction(math.nan, 0.0, 1.0, log=False) is None
    assert filled_fraction(7.0, 0.0, 1.0, log=False) == 1.0 and filled_fraction(-7.0, 0.0, 1.0, log=False) == 0.0


def test_integer_slider_gives_integers(bench):
    one = bench(integer(5, min=0, max=10), 3)
    one.click(0.75)
    assert one.value in (7, 8) and isinstance(one.value, int)


def test_hints_take_precedence_over_slider_and_hard_limits():
    spec = spec_of("x", number(1.0, min=0.0, max=10.0, slider_max=5.0))
    assert slider_range(spec, None) == (0.0, 5.0)
    assert slider_range(spec, UiHint(min=1.0)) == (1.0, 5.0)
    assert slider_range(spec, UiHint(min=1.0, max=9.0)) == (1.0, 9.0)
    assert slider_range(spec_of("x", number(1.0, min=0.0)), None) is None
    assert slider_range(spec_of("x", number(1.0, min=0.0)), UiHint(max=3.0)) == (0.0, 3.0)


def test_number_beyond_the_slider_can_be_typed(bench):
    one = bench(number(1.0, min=-10.0, max=10.0, slider_min=0.0, slider_max=1.0), 0.5)
    one.ctrl_click()
    one.type("7.25")
    assert one.value == 7.25


def test_typed_number_is_the_shortest_that_is_the_same_in_32_bits(bench):
    one = bench(number(1.0, min=0.0, max=1.0), 0.5)
    one.ctrl_click()
    one.type("0.3")
    assert repr(one.value) == "0.3"


def test_nan_is_returned_and_rejected_by_the_parameter(bench):
    """The widget must not fail on it; `ParamSpec` rejects it."""
    one = bench(number(1.0, min=1e-3, max=1.0, scale="log"), 0.5)
    one.ctrl_click()
    values = one.type("nan", enter=False)
    assert not values or math.isnan(values[-1])
    one.frames()


def test_number_without_a_range_is_dragged(bench):
    one = bench(number(1.0), 10.0)
    one.drag(0.3, 0.9)
    assert one.value > 10.0
    limited = bench(number(1.0, min=0.0), 0.1)
    limited.drag(0.99, -0.5)
    assert limited.value == 0.0


def test_large_integer_is_typed(bench):
    one = bench(integer(5, min=0, max=2**32 - 1), 2**32 - 1)
    one.click()
    assert one.type("4000000000") == [4_000_000_000]
    one.click()
    assert one.type("-") == []


def test_a_boolean(bench):
    one = bench(switch(True), False)
    assert one.click() == [True]
    assert one.click() == [False]


def test_choice(bench):
    one = bench(choice("a", ("a", "b", "c")), "a")
    one.click()
    one.io.add_mouse_pos_event(one.low.x + 20, one.high.y + 56)  # the last of the list that opened
    one.frames()
    assert one.button(True) + one.button(False) == ["c"]


def test_text_is_set_only_by_enter(bench):
    one = bench(text("old"), "old")
    one.click()
    assert one.type("new name", enter=False) == []
    one.io.add_key_event(imgui.Key.enter, True)
    assert one.frames() == ["new name"]


def test_a_file_shows_its_name_and_is_set_only_by_enter(bench):
    one = bench(file("a.toml", suffixes=[".toml"]), "folder/a.toml")
    one.click()
    assert one.type("b.toml", enter=False) == []
    one.click(1.5)  # elsewhere: canceled
    assert one.frames() == [] and one.value == "folder/a.toml"
    one.click()
    assert one.type("c.toml") == ["c.toml"]


def test_a_color_is_typed_in_hexadecimal(bench):
    one = bench(color("#000000"), (0.0, 0.0, 0.0))
    one.click(0.3)
    one.type("#ff8000")
    assert one.value == pytest.approx((1.0, 128 / 255, 0.0), abs=1e-6)


def test_a_color_is_one_that_a_scene_can_write(bench):
    one = bench(color("#000000"), (0.1, 0.2, 0.3))
    one.click(0.3)
    one.type("#ff8001")
    assert one.value == (1.0, 128 / 255, 1 / 255)


@pytest.mark.parametrize(
    ("declared", "first"),
    [
        (number(None, min=0.5, max=2.0), 0.5),
        (integer(None, min=3), 3),
        (switch(None), True),
        (choice(None, ("a", "b")), "a"),
        (vector(None, length=2), (0.0, 0.0)),
        (color(None), (1.0, 1.0, 1.0)),
    ],
)
def test_an_optional_value_can_be_set(bench, declared, first):
    one = bench(declared, None)
    assert one.click() == [first]
    assert not any(edited.changed for edited in one.edits[-3:])


def test_an_empty_optional_text_is_none(bench):
    one = bench(text(None), "old")
    one.click()
    assert one.type(" ") == [" "]
    again = bench(text(None), "old")
    again.click()
    again.io.add_key_event(imgui.Key.mod_ctrl, True)
    again.io.add_key_event(imgui.Key.a, True)
    again.frames()
    again.io.add_key_event(imgui.Key.a, False)
    again.io.add_key_event(imgui.Key.mod_ctrl, False)
    again.io.add_key_event(imgui.Key.backspace, True)
    again.frames()
    again.io.add_key_event(imgui.Key.enter, True)
    assert again.frames() == [None]


def test_elements_of_a_vector(bench):
    one = bench(vector((0.0, 0.0, 0.0)), (1.0, 2.0, 3.0))
    one.ctrl_click(0.5)
    one.type("-7.5")
    assert one.value == (1.0, -7.5, 3.0)


def test_a_keyword_instead_of_numbers(bench):
    one = bench(interval("auto", words=("auto",)), (0.25, 0.5))
    assert one.click(0.93) == ["auto"]
    assert one.click(0.93) == [(0.0, 1.0)]
    again = bench(interval((2.0, 4.0), words=("auto",)), "auto")
    assert again.click(0.93) == [(2.0, 4.0)]


def test_several_keywords_come_one_after_another(bench):
    one = bench(interval("auto", words=("auto", "symmetric")), (0.25, 0.5))
    assert [one.click(0.93) for _ in range(3)] == [["auto"], ["symmetric"], [(0.0, 1.0)]]


def test_the_low_end_of_a_range_stays_below_the_high_one(bench):
    one = bench(interval((0.0, 1.0)), (0.0, 1.0))
    one.ctrl_click(0.2)
    one.type("1.5")
    assert one.value == (0.0, 1.0)


def test_a_long_label_is_truncated(bench):
    bench(switch(True), True)
    imgui.new_frame()
    width = imgui.calc_text_size("contour strength").x
    assert fitted("contour strength", width) == "contour strength"
    cut = fitted("contour strength", width / 2)
    assert cut.endswith("…") and "contour strength".startswith(cut[:-1]) and imgui.calc_text_size(cut).x <= width / 2
    assert fitted("contour strength", 0.0) == "…"
    assert fitted_end("contour strength", width) == "contour strength"
    cut = fitted_end("encoder/3/attention", width)  # names differ at their ends
    assert cut[0] == "…" and "encoder/3/attention".endswith(cut[1:]) and imgui.calc_text_size(cut).x <= width
    imgui.end_frame()
