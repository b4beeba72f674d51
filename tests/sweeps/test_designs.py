"""Axes as `--set` has them, and the points of designs."""

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.params import ParamSpec
from vertigrad.sweeps.axes import Axis, axes_of, parse_sets, setting
from vertigrad.sweeps.designs import points, read_table, table_points


def axis(text: str) -> Axis:
    (found,), fixed = parse_sets([text])
    assert not fixed
    return found


def test_values_and_ranges_are_swept_and_a_single_value_is_a_setting():
    axes, fixed = parse_sets(["models.a.x=0.1,0.2", "a.y=0:1:3", "a.z=1e-2:1:3:log", "a.v=[1,2],[3,4]", "a.n=3"])
    assert {one.name: one.values for one in axes} == {
        "a.x": (0.1, 0.2),
        "a.y": (0.0, 0.5, 1.0),
        "a.z": (0.01, 0.1, 1.0),
        "a.v": ([1, 2], [3, 4]),
    }
    assert fixed == ["a.n=3"]


def test_texts_with_commas_and_colons_are_not_taken_apart():
    assert axis('a.word="x,y",z').values == ("x,y", "z")
    assert parse_sets(["a.word=c:d"]) == ([], ["a.word=c:d"])


def test_a_range_without_a_count_is_sampled_from_its_low_to_its_high_end():
    assert [axis("a.x=2:4").at(u) for u in (0.0, 0.5)] == [2.0, 3.0]
    assert axis("a.x=1:100:log").at(0.5) == pytest.approx(10.0)
    whole = axis("a.x=1:3").for_spec(ParamSpec(kind="integer"))
    assert [whole.at(u) for u in (0.0, 0.34, 0.99)] == [1, 2, 3]
    assert axis("a.x=1:3:9").for_spec(ParamSpec(kind="integer")).values == (1, 2, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a.x", "expected NAME=VALUES"),
        ("a.x=1:0:3", "is not below its high end"),
        ("a.x=0:1:3:log", "begins above 0"),
        ("a.x=0:1:2.5", "count of a range is an integer"),
        ("a.x=0:1:3:4", "LOW:HIGH[:COUNT][:log]"),
        ("a.x=1,2,1", "named twice"),
    ],
)
def test_wrong_axes_are_refused(text, message):
    with pytest.raises(InputError, match=message.replace("[", r"\[").replace("]", r"\]")):
        parse_sets([text])


def test_a_script_sweeps_lists_and_arrays():
    axes, fixed = axes_of({"a.x": np.array([1.0, 2.0]), "a.y": "0:1:2", "a.z": 3, "a.v": (1.0, 2.0)})
    assert [(one.name, one.values) for one in axes] == [("a.x", (1.0, 2.0)), ("a.y", (0.0, 1.0))]
    assert fixed == ["a.z=3", "a.v=[1.0, 2.0]"]


def test_a_grid_has_every_combination():
    axes, _ = parse_sets(["a.x=1,2,3", "a.y=0:1:2"])
    found = points(axes, "grid", None, 0)
    assert len(found) == 6
    assert found[1] == {"a.x": 1, "a.y": 1.0}
    with pytest.raises(InputError, match="a grid needs a count, such as 0:1:20"):
        points(parse_sets(["a.x=0:1"])[0], "grid", None, 0)


@pytest.mark.parametrize("sampling", ["random", "latin", "sobol"])
def test_samples_fill_the_space_and_repeat_with_their_seed(sampling):
    axes, _ = parse_sets(["a.x=-1:1", "a.y=10,20"])
    found = points(axes, sampling, 64, 5)
    x = np.sort([point["a.x"] for point in found])
    assert found == points(axes, sampling, 64, 5) != points(axes, sampling, 64, 6)
    assert len(found) == 64
    assert -1 <= x[0] < -0.85
    assert 0.85 < x[-1] < 1
    assert {point["a.y"] for point in found} == {10, 20}
    if sampling != "random":  # one in each of 64 strata
        np.testing.assert_array_equal(np.floor((x + 1) * 32), np.arange(64))


@pytest.mark.parametrize("sampling", ["random", "sobol"])
def test_more_samples_leave_the_first_ones_as_they_are(sampling):
    axes, _ = parse_sets(["a.x=-1:1", "a.y=0:5"])
    assert points(axes, sampling, 40, 1)[:10] == points(axes, sampling, 10, 1)


def test_tables_of_files_and_scripts(tmp_path):
    file = tmp_path / "points.csv"
    file.write_text('a.x,a.kind\n0.5,round\n2,"[1, 2]"\n')
    assert read_table(file) == [{"a.x": 0.5, "a.kind": "round"}, {"a.x": 2, "a.kind": [1, 2]}]
    assert (
        table_points({"a.x": np.arange(2.0)})
        == table_points([{"a.x": 0.0}, {"a.x": 1.0}])
        == [
            {"a.x": 0.0},
            {"a.x": 1.0},
        ]
    )
    file.write_text("a.x,a.y\n1\n")
    with pytest.raises(InputError, match=r"points.csv:2: has 1 values, not 2"):
        read_table(file)


def test_settings_give_exactly_the_value():
    assert setting("a.x", 0.1 + 0.2) == "a.x=0.30000000000000004"
    assert setting("a.word", "x,y") == 'a.word="x,y"'
