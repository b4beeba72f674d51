"""`edited`: one entry of a text changes, and every other character stays."""

import tomllib

import pytest

from vertigrad.scene.edit import Uneditable, edited, literal

TEXT = """\
version = 1   # the first
title = "A"

# what moves
[models.galaxy]
type = "nbody"
count = 3   # few
drift = [ 0.0, # x
          1,   # y
          2.0 ]
ui.softening = { min = 0.1, max = 1.0 }

  [layers.stars]
  type = 'points'
  range = "auto"

[view]
background = "#05060a"
bloom = 0
# exposure = 2.0
"""

GALAXY = ("models", "galaxy")
ONE_CHANGE = [
    ((*GALAXY, "count"), 40, "count = 3 ", "count = 40 "),
    ((*GALAXY, "drift"), (0.0, 1.5, 2.0), "1,   # y", "1.5,   # y"),
    ((*GALAXY, "drift"), (7.0, 8.0, 2.0), "0.0, # x\n          1,", "7.0, # x\n          8,"),
    ((*GALAXY, "ui", "softening", "max"), 0.5, "max = 1.0", "max = 0.5"),
    ((*GALAXY, "ui", "softening", "label"), "a b", "max = 1.0 }", 'max = 1.0, label = "a b" }'),
    ((*GALAXY, "ui", "count", "max"), 9, "max = 1.0 }\n", "max = 1.0 }\n\n[models.galaxy.ui.count]\nmax = 9\n"),
    ((*GALAXY, "rate"), 3.0, "max = 1.0 }\n", "max = 1.0 }\nrate = 3.0\n"),
    (("layers", "stars", "range"), (0.25, 2.0), '"auto"', "[0.25, 2.0]"),
    (("layers", "stars", "size"), 0.5, '"auto"\n', '"auto"\n  size = 0.5\n'),
    (("view", "bloom"), 1.0, "bloom = 0", "bloom = 1"),
    (("view", "bloom"), 0.5, "bloom = 0", "bloom = 0.5"),
    (("view", "sun"), 2.0, "bloom = 0\n", "bloom = 0\nsun = 2.0\n"),
    (("title",), 'x "y" \\ \n', '"A"', '"x \\"y\\" \\\\ \\n"'),
    (("presets", "a b", "galaxy.count"), 5, "2.0\n", '2.0\n\n[presets."a b"]\n"galaxy.count" = 5\n'),
    (("camera", "fov"), 30.0, "2.0\n", "2.0\n\n[camera]\nfov = 30.0\n"),
]


@pytest.mark.parametrize(("path", "value", "before", "after"), ONE_CHANGE)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_one_change(path, value, before, after, newline):
    text = TEXT.replace("\n", newline)
    before, after = before.replace("\n", newline), after.replace("\n", newline)
    start = text.rindex(before)
    assert edited(text, {path: value}) == text[:start] + after + text[start + len(before) :]


@pytest.mark.parametrize("path, value", [(path, value) for path, value, *_ in ONE_CHANGE])
def test_a_file_without_a_last_newline_gets_none(path, value):
    text = TEXT.removesuffix("# exposure = 2.0\n").rstrip()
    new = edited(text, {path: value})
    assert not new.endswith("\n") and edited(text + "\n", {path: value}) == new + "\n"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*GALAXY, "count"), 3),
        ((*GALAXY, "count"), 3.0),
        ((*GALAXY, "drift"), (0.0, 1.0, 2.0)),
        (("view", "bloom"), 0.0),
        (("layers", "stars", "type"), "points"),
        (("view", "nothing"), None),
    ],
)
def test_existing_values_are_not_changed(path, value):
    assert edited(TEXT, {path: value}) == TEXT


def test_a_boolean_is_not_a_number():
    assert edited("a = 1\n", {("a",): True}) == "a = true\n"
    assert edited("a = [false]\n", {("a",): (0.0,)}) == "a = [0.0]\n"


REMOVED = [
    ("a = 1\nb = 2 # two\nc = 3\n", ("b",), "a = 1\nc = 3\n"),
    ("a = 1\nb = 2", ("b",), "a = 1"),
    ("b = 2", ("b",), ""),
    ("a = {x = 1, y = 2 , z = 3}\n", ("a", "y"), "a = {x = 1, z = 3}\n"),
    ("a = {x = 1, y = 2 , z = 3}\n", ("a", "x"), "a = {y = 2 , z = 3}\n"),
    ("a = {x = 1, y = 2 , z = 3 }\n", ("a", "z"), "a = {x = 1, y = 2 }\n"),
    ("a = { x = 1 }\n", ("a", "x"), "a = {  }\n"),
    ("v = 1\n\n[p.a]\n# of a\nx = 1\n\n[p.b]\nx = 2\n", ("p", "a"), "v = 1\n\n[p.b]\nx = 2\n"),
    ("v = 1\n\n[p.a]\nx = 1\n# of b\n[p.b]\nx = 2\n", ("p", "a"), "v = 1\n# of b\n[p.b]\nx = 2\n"),
    ("v = 1\r\n\r\n[p.a]\r\nx = 1\r\n", ("p", "a"), "v = 1\r\n"),
    ("[p.a]\nx = 1\n[p.b]\n", ("p", "a"), "[p.b]\n"),
    ("[p]\na.x = 1\nb.x = 2\na.y = 3\n", ("p", "a"), "[p]\nb.x = 2\n"),
    ("[p]\na = { x = 1, y = 2 }\nb.x = 2\n", ("p", "a"), "[p]\nb.x = 2\n"),
    ("p = { a.x = 1, b.x = 2, a.y = 3 }\n", ("p", "a"), "p = { b.x = 2 }\n"),
    ("[p.a]\nx = 1\n[p.a.deep]\ny = 2\n[q]\n", ("p", "a"), "[q]\n"),
]


@pytest.mark.parametrize(("text", "path", "expected"), REMOVED)
def test_a_removed_entry_leaves_no_gap(text, path, expected):
    assert edited(text, {path: None}) == expected


def test_new_tables_are_added_after_related_ones_and_never_split_another():
    text = 'p.a."x" = 1\nv = 1\n\n[p.b]\nx = 2\n# of b\n\n# of q\n[q]\nx = 3\n# of the end\n'
    assert edited(text, {("p", "c", "x"): 3}) == text.replace("# of b\n", "# of b\n\n[p.c]\nx = 3\n")
    assert edited(text, {("p", "a", "y"): 3}) == text.replace('"x" = 1\n', '"x" = 1\np.a.y = 3\n')
    assert edited(text, {("r", "x"): 3}) == text + "\n[r]\nx = 3\n"
    assert edited("", {("r", "x"): 3}) == "[r]\nx = 3"
    assert edited("p.a.x = 1\nv = 1\n[q]\n", {("p", "c", "x"): 3}) == "p.a.x = 1\nv = 1\n[q]\n\n[p.c]\nx = 3\n"
    text = "[m.a]\nx = 1\n[m.b]\nx = 2\n[q]\n"
    assert edited(text, {("m", "a", "ui", "x"): 3}) == text.replace("x = 1\n", "x = 1\n\n[m.a.ui]\nx = 3\n")


def test_entries_of_a_table_stay_together_and_in_their_order():
    new = edited("v = 1\n", {("p", "a", "z"): 1, ("p", "a", "y"): 2, ("p", "b", "x"): 3})
    assert new == "v = 1\n\n[p.a]\nz = 1\ny = 2\n\n[p.b]\nx = 3\n"


@pytest.mark.parametrize(
    "text", ["[p.a]\nx = 1\n[p.b]\n", "p = { a = { x = 1 }, b = {} }\n", "p.a.x = 1\np.'a'.y = 2\n"]
)
def test_a_table_is_renamed_wherever_it_occurs(text):
    new = edited(text, {("p", "c d", "z"): 3}, renames={("p", "a"): "c d"})
    read = tomllib.loads(new)["p"]
    assert next(iter(read)) == "c d" and read["c d"]["x"] == 1 and read["c d"]["z"] == 3 and "a" not in read


def test_names_can_be_swapped():
    text = "[p.a]\nx = 1\n\n[p.b]\nx = 2\n"
    assert edited(text, {}, renames={("p", "a"): "b", ("p", "b"): "a"}) == "[p.b]\nx = 1\n\n[p.a]\nx = 2\n"


def test_entries_that_cannot_be_changed_separately_are_rejected():
    with pytest.raises(Uneditable):
        edited("a = 1\n", {("a", "b"): 2})
    with pytest.raises(Uneditable):
        edited("[a]\nb = 1\n", {("a",): 2})


@pytest.mark.parametrize("value", ["", "\x00\x1f\x7f", "\u2028 😀 ü", "a\"b\\c'", "line\nline\r\ttab", "#05060a"])
def test_text_round_trips(value):
    assert tomllib.loads(f"x = {literal(value)}")["x"] == value
