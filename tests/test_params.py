"""Parameters: accepted values, messages for rejected ones, and specifications for a GUI."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError, model_validator

from vertigrad import resources
from vertigrad.errors import ParameterError
from vertigrad.params import (
    Auto,
    Params,
    angle,
    choice,
    closest,
    color,
    described,
    file,
    hint,
    integer,
    interval,
    number,
    same,
    shown,
    switch,
    text,
    vector,
)


class Everything(Params):
    softening: float = number(
        0.05, min=1e-4, max=1.0, slider_min=0.01, slider_max=0.5, unit="kpc", scale="log", doc="Plummer length"
    )
    free: float = number(0.0)
    count: int = integer(8192, min=2, max=1 << 20, rebuild=True)
    whole: int = integer(0)
    tilt: float = angle(30, min=-180, max=180)
    frozen: bool = switch(False)
    start: Literal["disc", "ball"] = choice("disc", ("disc", "ball"))
    side: Literal["512", "1024"] = choice("512", ("512", "1024"))
    label: str = text("")
    tint: tuple[float, float, float] = color("#336699")
    drift: tuple[float, float, float] = vector((0, 1, 2), min=-5, max=5, unit="m")
    pair: tuple[float, float] = vector((0, 0), length=2)
    range: tuple[float, float] | Literal["auto"] = interval("auto", min=0, words=("auto",))
    weights: Path = file("net.safetensors", suffixes=(".safetensors", ".npz"))
    near: float | None = number(None, min=0.0)


class Demanding(Params):
    weights: Path = file(...)

    @model_validator(mode="after")
    def _sound(self):
        if self.weights.name == "cursed":
            raise ValueError("the file is cursed")
        return self


def refusal(**values) -> str:
    with pytest.raises(ParameterError) as raised:
        Everything.parse(values)
    assert raised.value.exit_code == 2
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("softening", 1, 1.0),
        ("softening", 1e-4, 1e-4),
        ("free", -3.4e38, -3.4e38),
        ("count", 2, 2),
        ("whole", 2**32 - 1, 2**32 - 1),
        ("whole", -(2**31), -(2**31)),
        ("tilt", -180, -180.0),
        ("frozen", True, True),
        ("start", "ball", "ball"),
        ("side", 1024, "1024"),
        ("tint", "#fff", (1.0, 1.0, 1.0)),
        ("tint", [0, 0.5, 1], (0.0, 0.5, 1.0)),
        ("tint", "#0000FF", (0.0, 0.0, 1.0)),
        ("drift", [1, 2, 3], (1.0, 2.0, 3.0)),
        ("pair", (1, 2.5), (1.0, 2.5)),
        ("range", [0, 2], (0.0, 2.0)),
        ("range", "auto", "auto"),
        ("weights", "other.NPZ", Path("other.NPZ")),
        ("near", None, None),
        ("near", 2, 2.0),
    ],
)
def test_accepted(name, value, expected):
    found = getattr(Everything.parse({name: value}), name)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("softening", "abc", 'expected a number, got "abc" (string)'),
        ("softening", "0.5", 'expected a number, got "0.5" (string)'),
        ("softening", True, "expected a number, got true (boolean)"),
        ("softening", None, "expected a number, got nothing"),
        ("softening", {}, "expected a number, got a table"),
        ("softening", [1], "expected a number, got an array of 1 value"),
        ("softening", float("nan"), "expected a finite number, got nan"),
        ("softening", float("-inf"), "expected a finite number, got -inf"),
        ("softening", 0.0, "0.0 is below the minimum 0.0001 kpc"),
        ("softening", 2, "2.0 is above the maximum 1.0 kpc"),
        ("free", 1e39, "1e+39 is too large for a 32-bit number"),
        ("free", 10**400, "a number of more than 40 digits is too large for a 32-bit number"),
        ("count", 3.0, "expected an integer, got 3.0 (number)"),
        ("count", False, "expected an integer, got false (boolean)"),
        ("count", 1, "1 is below the minimum 2"),
        ("whole", 2**32, "4294967296 does not fit 32 bits"),
        ("whole", -(2**31) - 1, "-2147483649 does not fit 32 bits"),
        ("frozen", 1, "expected true or false, got 1 (integer)"),
        ("frozen", "true", 'expected true or false, got "true" (string)'),
        ("start", "disk", '"disk" is not one of the choices; did you mean "disc"?'),
        ("start", "zzz", '"zzz" is not one of the choices; known: ball, disc'),
        ("start", 1, "expected one of disc, ball, got 1 (integer)"),
        ("side", 2048, "expected one of 512, 1024, got 2048 (integer)"),
        ("side", True, "expected one of 512, 1024, got true (boolean)"),
        ("label", 5, "expected text in quotes, got 5 (integer)"),
        ("tint", "#12345", 'expected a color like "#3366cc", got "#12345" (string)'),
        ("tint", "red", 'expected a color like "#3366cc", got "red" (string)'),
        ("tint", [0, 0, 2], "element 3: 2.0 is above the maximum 1.0"),
        ("drift", [1, 2], "expected 3 numbers, got 2 values"),
        ("drift", [1, "2", 3], 'element 2: expected a number, got "2" (string)'),
        ("drift", [1, 2, 9], "element 3: 9.0 is above the maximum 5.0 m"),
        ("drift", "123", 'expected 3 numbers, got "123" (string)'),
        ("range", [2, 0], "the low end 2.0 is not below the high end 0.0"),
        ("range", [1, 1], "the low end 1.0 is not below the high end 1.0"),
        ("range", "Auto", 'expected [low, high] or "auto", got "Auto" (string)'),
        ("weights", "net.txt", '"net.txt" does not end in .safetensors or .npz'),
        ("weights", "", "the path is empty"),
        ("weights", "a\0.npz", "the path has a NUL character in it"),
        ("weights", "assets/no.npz", 'there is no packaged file "assets/no.npz"'),
        ("weights", "assets/../x.npz", '"assets/../x.npz" leaves the packaged assets'),
        ("near", -1, "-1.0 is below the minimum 0.0"),
        ("softning", 1, 'unknown parameter; did you mean "softening"?'),
        ("SOFTENING", 1, 'unknown parameter; did you mean "softening"?'),
        ("zzz", 1, f"unknown parameter; known: {', '.join(sorted(Everything.model_fields))}"),
    ],
)
def test_refused(name, value, message):
    assert refusal(**{name: value}) == f"{name}: {message}"


def test_every_problem_is_reported():
    assert refusal(softening=5, count=1, sofening=1).splitlines() == [
        "softening: 5.0 is above the maximum 1.0 kpc",
        "count: 1 is below the minimum 2",
        'sofening: unknown parameter; did you mean "softening"?',
    ]


def test_required_and_exclusive_parameters():
    with pytest.raises(ParameterError, match=r"^weights: must be given$"):
        Demanding.parse({})
    with pytest.raises(ParameterError, match=r"^the file is cursed$"):
        Demanding.parse({"weights": "cursed"})


@given(
    st.sampled_from(list(Everything.model_fields)),
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.dates()),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
        max_leaves=5,
    ),
)
def test_any_value_is_within_limits_or_rejected_with_a_message(name, value):
    (spec,) = (spec for spec in Everything.specs() if spec.name == name)
    try:
        expected = getattr(Everything.parse({name: value}), name)
    except ParameterError as error:
        assert str(error).startswith(f"{name}: ")
        return
    for element in expected if isinstance(expected, tuple) else [expected]:
        if isinstance(element, float | int):
            assert spec.min is None or element >= spec.min
            assert spec.max is None or element <= spec.max


def test_a_change_is_checked_and_a_refused_one_changes_nothing():
    found = Everything()
    found.change("softening", 0.5)
    assert found.softening == 0.5
    for name, value in (("softening", 7), ("start", "disk"), ("unknown", 1)):
        with pytest.raises(ParameterError, match=f"^{name}: "):
            found.change(name, value)
    with pytest.raises(ValidationError):
        found.softening = float("nan")
    assert found == Everything(softening=0.5)


def test_specs_have_what_a_gui_needs():
    specs = {spec.name: spec for spec in Everything.specs()}
    assert list(specs) == list(Everything.model_fields)
    softening = specs["softening"]
    assert (softening.kind, softening.default, softening.doc) == ("number", 0.05, "Plummer length")
    assert (softening.min, softening.max, softening.slider_min, softening.slider_max) == (1e-4, 1.0, 0.01, 0.5)
    assert (softening.unit, softening.scale, softening.rebuild) == ("kpc", "log", False)
    assert (specs["count"].kind, specs["count"].rebuild) == ("integer", True)
    assert specs["start"].choices == ("disc", "ball")
    assert specs["range"].words == ("auto",)
    assert (specs["pair"].length, specs["drift"].length, specs["tint"].length) == (2, 3, 3)
    assert specs["tint"].default == pytest.approx((0.2, 0.4, 0.6))
    assert (specs["near"].optional, specs["free"].optional) == (True, False)
    (weights,) = Demanding.specs()
    assert (weights.required, weights.rebuild) == (True, True)


def test_defaults_of_each_declaration():
    class Bare(Params):
        a_number: float = number(0.0)
        an_integer: int = integer(0)
        an_angle: float = angle(0.0)
        a_switch: bool = switch(False)
        a_choice: str = choice("one", ("one", "two"))
        a_text: str = text("")
        a_color: tuple[float, float, float] = color("#000000")
        a_vector: tuple[float, float, float] = vector((0, 0, 0))
        an_interval: tuple[float, float] = interval((0, 1))
        a_file: Path = file("net.npz")

    for spec in Bare.specs():
        assert spec.rebuild == (spec.kind == "file"), spec.name
        assert (spec.scale, spec.words, spec.auto, spec.gizmo, spec.required) == ("linear", (), False, "", False)
        assert (spec.min, spec.max) == ((0.0, 1.0) if spec.kind == "color" else (None, None)), spec.name
        assert (spec.slider_min, spec.slider_max, spec.suffixes) == (None, None, ()), spec.name
        assert spec.unit == ("degrees" if spec.kind == "angle" else "")
    lengths = {spec.kind: spec.length for spec in Bare.specs()}
    assert lengths == dict.fromkeys(lengths, 1) | {"color": 3, "vector": 3, "interval": 2}


def test_the_json_schema_has_the_limits():
    entry = Everything.model_json_schema()["properties"]["softening"]
    assert (entry["min"], entry["max"], entry["unit"]) == (1e-4, 1.0, "kpc")
    assert entry["description"] == "Plummer length"


def test_a_packaged_file_is_found_and_its_default_too(tmp_path, monkeypatch):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "net.npz").touch()
    monkeypatch.setattr(resources, "root", lambda: tmp_path)

    class Packaged(Params):
        weights: Path = file("assets/net.npz")

    assert Packaged().weights == tmp_path / "assets" / "net.npz"
    assert Packaged.specs()[0].default == "assets/net.npz"


def test_a_field_without_a_declaration_is_an_error():
    class Plain(Params):
        softening: float = 0.5

    with pytest.raises(TypeError, match="softening"):
        Plain.specs()


def test_a_default_outside_its_limits_is_an_error():
    class Outside(Params):
        softening: float = number(5.0, max=1.0)

    with pytest.raises(ParameterError, match="above the maximum"):
        Outside.specs()


def test_suggestions():
    assert closest("sofening", ["softening", "count"]) == "softening"
    assert closest("Count", ["softening", "count"]) == "count"
    assert closest("zzz", ["softening", "count"]) is None
    assert closest("x" * 100_000, ["softening"]) is None
    assert hint("zzz", []) == ""
    assert hint("zzz", [f"parameter_{i}" for i in range(50)]) == ""
    assert hint("zzz", [f"p{i:02}" for i in range(24)]).startswith("known: p00, p01, ")
    assert hint("zzz", [f"p{i:02}" for i in range(25)]) == "", "so many are no help"


def test_values_are_shown_as_in_the_file_and_truncated():
    assert described('a"b') == r'"a\"b" (string)'
    assert described("two\nlines") == r'"two\nlines" (string)'
    assert described("\x1b[31m") == r'"\u001b[31m" (string)'
    assert len(shown("x" * 1000)) < 70
    assert shown("x" * 60) == f'"{"x" * 60}"'
    assert shown("x" * 61) == f'"{"x" * 59}…"'
    assert len(shown([10] * 15)) == 60 and "…" not in shown([10] * 15)
    assert len(shown([10] * 16)) == 60 and shown([10] * 16).endswith("…")
    assert shown(True) == "true"


class Fitting(Params):
    count: int = integer(64, min=2, max=1000, rebuild=True, auto=True)
    fixed: int = integer(3)
    position: tuple[float, float, float] = vector((0.0, 1.0, 2.0), gizmo="position")


def test_auto_is_a_number_marked_as_automatic():
    automatic = Fitting.parse({"count": "auto"})
    assert automatic.count == 64 and isinstance(automatic.count, Auto)
    chosen = automatic.with_values({"count": Auto(200)})
    assert chosen.count == 200 and isinstance(chosen.count, Auto)
    assert isinstance(chosen.with_values({"fixed": 4}).count, Auto), "a change of something else keeps it"
    assert isinstance(chosen.model_copy().count, Auto)
    by_hand = chosen.with_values({"count": 200})
    assert by_hand.count == chosen.count and not isinstance(by_hand.count, Auto)
    chosen.change("count", 5)
    assert chosen.count == 5 and not isinstance(chosen.count, Auto)


def test_auto_values_are_equal_for_any_number():
    assert same(Auto(3), Auto(4)) and same(3, 3) and same((1.0,), (1.0,))
    assert not same(Auto(3), 3) and not same(3, Auto(3)) and not same(3, 4)


@pytest.mark.parametrize(
    ("values", "expected_message"),
    [
        ({"count": "fit"}, 'count: expected an integer or "auto", got "fit" (string)'),
        ({"count": Auto(1)}, "count: 1 is below the minimum 2"),
        ({"count": Auto(2000)}, "count: 2000 is above the maximum 1000"),
        ({"fixed": "auto"}, 'fixed: expected an integer, got "auto" (string)'),
    ],
)
def test_auto_is_rejected_for_other_parameters(values, expected_message):
    with pytest.raises(ParameterError) as raised:
        Fitting.parse(values)
    assert str(raised.value) == expected_message


def test_a_plain_number_is_not_automatic():
    assert not isinstance(Fitting.parse({"fixed": Auto(7)}).fixed, Auto)


def test_specs_have_positions_and_auto():
    specs = {spec.name: spec for spec in Fitting.specs()}
    assert (specs["count"].auto, specs["fixed"].auto) == (True, False)
    assert (specs["position"].gizmo, specs["count"].gizmo) == ("position", "")
