"""Animated parameters: functions of simulated time, the same in every run."""

import math

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.params import angle, color, integer, number, vector
from vertigrad.params.declare import spec_of
from vertigrad.scene import Animation, load
from vertigrad.scene.preset_tables import range_objection
from vertigrad.session import STEP
from vertigrad.session.commands import (
    Animate,
    ApplyPreset,
    Play,
    Reset,
    ResetParameters,
    Save,
    SavePreset,
    SetParameter,
    SetSpeed,
    Undo,
)
from vertigrad.session.parameters import Key
from vertigrad.session.ranges import value_at

from .running import SCENE, run_frame, values

HEIGHT, GLOW, COUNT = Key("models.row", "height"), Key("layers.dots", "emissive"), Key("models.row", "count")
NUMBER = spec_of("x", number(1.0, min=0.0, max=10.0))


def test_shapes():
    sine, ramp = Animation(range=(2.0, 4.0), frequency=0.5), Animation(shape="ramp", range=(2.0, 4.0), frequency=0.5)
    assert [value_at(sine, NUMBER, t, False) for t in (0, 0.5, 1, 2)] == pytest.approx([2, 3, 4, 2])
    assert [value_at(ramp, NUMBER, t, False) for t in (0, 0.5, 1.5, 2)] == pytest.approx([2, 2.5, 3.5, 2])
    assert [value_at(ramp, NUMBER, t, True) for t in (0, 1)] == pytest.approx([2, math.sqrt(8)])


def test_noise_is_smooth_random_and_the_same_for_a_seed():
    noise = Animation(shape="noise", range=(0.0, 1.0), frequency=1.0, seed=5)
    found = np.array([value_at(noise, NUMBER, t, False) for t in np.arange(0, 400, 0.05)])
    assert 0.3 < found.mean() < 0.7 and found.std() > 0.2 and found.min() >= 0.0 and found.max() <= 1.0
    assert np.abs(np.diff(found)).max() < 0.1  # the polynomial's steepest is 15/8
    again = [value_at(noise, NUMBER, t, False) for t in np.arange(0, 400, 0.05)]
    other = [value_at(noise.model_copy(update={"seed": 6}), NUMBER, t, False) for t in np.arange(0, 400, 0.05)]
    assert found.tolist() == again and np.abs(np.corrcoef(found, other)[0, 1]) < 0.2


@pytest.mark.parametrize("declared", [number(0.2, min=0.1, max=0.3), angle(0.2, min=0.1, max=0.3)])
@pytest.mark.parametrize("shape", ["sine", "ramp", "noise"])
@pytest.mark.parametrize("log", [False, True])
def test_no_value_leaves_the_range(declared, shape, log):
    moves = Animation(shape=shape, range=(0.1, 0.3), frequency=0.37)
    spec = spec_of("x", declared)
    for t in np.arange(0, 60, 0.01):
        assert 0.1 <= value_at(moves, spec, float(t), log) <= 0.3


def test_rounding_stays_within_the_range():
    """A value beyond the range is rejected where the range ends at a limit."""
    chance = np.random.default_rng(3)
    for low, high in np.sort(chance.random((2000, 2)) + 0.001).tolist():
        moves = Animation(range=(low, high), frequency=1.0)
        for log in (False, True):
            assert low <= value_at(moves, NUMBER, 0.5, log) <= high


def test_integers_stay_whole():
    spec = spec_of("x", integer(1, min=0, max=9))
    found = {value_at(Animation(range=(0.0, 9.0), frequency=1.0), spec, t / 100, False) for t in range(100)}
    assert found == set(range(10)) and all(isinstance(value, int) for value in found)


def test_a_parameter_follows_simulated_time(opened):
    session = opened()
    moves = Animation(shape="ramp", range=(0.0, 6.0), frequency=1.0)
    session.post(Animate(*HEIGHT, moves))
    for frame in range(1, 20):
        run_frame(session)
        assert session.parameters()["models.row"].height == pytest.approx(6.0 * frame * STEP)
    drawn = values(session, "row.position")[0, 1] - values(session, "row.phase")[0]
    assert drawn == pytest.approx(6.0 * 18 * STEP, abs=1e-5), "a step has the value of the time at which it begins"
    session.post(Play(False))
    for _ in range(5):
        run_frame(session)
    assert session.parameters()["models.row"].height == pytest.approx(6.0 * 19 * STEP)
    session.post(Play(True))
    session.post(SetSpeed(2.0))
    run_frame(session)
    assert session.parameters()["models.row"].height == pytest.approx(6.0 * 21 * STEP)
    session.post(Reset())
    run_frame(session)
    assert session.parameters()["models.row"].height == pytest.approx(6.0 * 2 * STEP)


def test_two_runs_are_alike(opened):
    found = []
    for _ in range(2):
        session = opened(SCENE + '\n[animations."row.height"]\nshape = "noise"\nrange = [-2, 2]\nrate = 5\nseed = 3\n')
        for _ in range(30):
            run_frame(session)
        found.append(values(session, "row.position"))
    assert np.array_equal(*found) and abs(float(found[0][0, 1]) - 0.5) > 1e-3


def test_an_animation_of_the_scene_moves_from_the_first_step_on(opened):
    session = opened(SCENE + '\n[animations."layers.dots.emissive"]\nshape = "ramp"\nrange = [0.25, 1]\nrate = 1\n')
    run_frame(session)
    assert session.scene_edits.value(GLOW) == 0.0 and not session.unsaved
    assert session.parameters()["layers.dots"].emissive == pytest.approx(0.25 + 0.75 * STEP)


def test_the_constant_value_is_retained_during_an_animation(opened):
    session = opened()
    session.post(SetParameter(*HEIGHT, 3.0))
    session.post(Animate(*HEIGHT, Animation(range=(0.0, 1.0))))
    session.post(SavePreset("three"))
    for _ in range(5):
        run_frame(session)
    assert session.scene_edits.value(HEIGHT) == 3.0 != session.parameters()["models.row"].height
    assert session.scene_edits.extras.presets[0].values == {HEIGHT: 3.0}
    session.post(Undo())
    session.post(Undo())
    run_frame(session)
    assert session.parameters()["models.row"].height == 3.0 and session.scene_edits.extras.animations == {}


@pytest.mark.parametrize(
    "command",
    [SetParameter(*HEIGHT, 4.0), ApplyPreset("four"), ResetParameters((HEIGHT,)), Animate(*HEIGHT, None)],
)
def test_setting_a_value_stops_the_animation_and_undo_resumes_it(opened, command):
    session = opened(SCENE + '\n[presets.four]\n"row.height" = 4\n')
    session.post(Animate(*HEIGHT, Animation(shape="ramp", range=(0.0, 6.0), frequency=1.0)))
    for _ in range(7):
        run_frame(session)
    moved = session.parameters()["models.row"].height
    session.post(command)
    for _ in range(3):
        run_frame(session)
    expected = {SetParameter: 4.0, ApplyPreset: 4.0, ResetParameters: 0.0, Animate: moved}[type(command)]
    assert session.parameters()["models.row"].height == session.scene_edits.value(HEIGHT) == expected
    session.post(Undo())
    run_frame(session)
    assert session.parameters()["models.row"].height == pytest.approx(6.0 * 11 * STEP)
    session.post(Undo())
    run_frame(session)
    assert session.parameters()["models.row"].height == 0.0


def test_a_paused_session_draws_the_start_of_an_animation_and_becomes_idle(opened):
    session = opened()
    session.post(Play(False))
    run_frame(session)
    session.post(Animate(*HEIGHT, Animation(range=(5.0, 6.0))))
    run_frame(session)
    assert values(session, "row.position")[0, 1] == 5.0
    run_frame(session)
    assert session.idle


@pytest.mark.parametrize(
    ("key", "ends", "message"),
    [
        (COUNT, (1.0, 5.0), "count cannot be animated"),
        (HEIGHT, (-11.0, 5.0), "-11.0 is below the minimum -10.0"),
        (HEIGHT, (0.0, 50.0), "50.0 is above the maximum 10.0"),
        (Key("view", "background"), (0.0, 1.0), "the range of background is two colors"),
        (Key("layers.dots", "colormap"), (0.0, 1.0), "colormap cannot be animated"),
        (Key("view", "blom"), (0.0, 1.0), 'did you mean "bloom"?'),
    ],
)
def test_a_parameter_that_cannot_be_animated_is_reported(opened, key, ends, message):
    session = opened()
    session.post(Animate(*key, Animation(range=ends)))
    run_frame(session)
    assert message in session.messages[f"{key.owner}.{key.name}"]
    assert session.scene_edits.extras.animations == {} and session.scene_edits.history.done == []


def test_dragging_the_rate_is_one_step(opened):
    session = opened()
    session.post(Animate(*HEIGHT, Animation(range=(0.0, 1.0))))
    for frequency in (0.3, 0.4, 0.5):
        session.post(Animate(*HEIGHT, Animation(range=(0.0, 1.0), frequency=frequency), stroke=3))
        run_frame(session)
    assert len(session.scene_edits.history.done) == 2
    session.post(Undo())
    run_frame(session)
    assert session.scene_edits.extras.animations[HEIGHT].frequency == 0.2


def test_components_of_a_vector_go_between_their_own_ends():
    spec = spec_of("x", vector((0.0, 0.0, 0.0)))
    moves = Animation(shape="ramp", range=((0.0, 5.0, 2.0), (4.0, 5.0, 0.0)), frequency=1.0)
    assert value_at(moves, spec, 0.25, False) == pytest.approx((1.0, 5.0, 1.5))
    assert value_at(moves, spec, 0.25, True) == pytest.approx((1.0, 5.0, 1.5))
    noise = Animation(shape="noise", range=((0.0,) * 3, (1.0,) * 3), frequency=1.0, seed=2)
    found = np.array([value_at(noise, spec, t, False) for t in np.arange(0, 200, 0.1)])
    assert np.abs(np.corrcoef(found.T) - np.eye(3)).max() < 0.25, "each has its own noise"
    assert found.min() >= 0.0 and found.max() <= 1.0


def test_a_color_moves_and_is_undone(opened):
    moves = '[animations."view.background"]\nshape = "ramp"\nrange = ["#000000", "#ff0080"]\nrate = 1\n'
    session = opened(f"{SCENE}\n{moves}")
    key = Key("view", "background")
    rest = session.scene_edits.value(key)
    for frame in range(1, 10):
        run_frame(session)
        share = frame * STEP
        assert session.parameters()["view"].background == pytest.approx((share, 0.0, share * 128 / 255))
    assert session.scene_edits.value(key) == rest and not session.unsaved
    session.post(Animate(*key, None))
    run_frame(session)
    stopped = session.parameters()["view"].background
    run_frame(session)
    assert session.parameters()["view"].background == stopped and session.unsaved
    session.post(Undo())
    run_frame(session)
    assert session.parameters()["view"].background[0] == pytest.approx(12 * STEP) and not session.unsaved


@pytest.mark.parametrize(
    ("declared", "ends", "expected"),
    [
        (vector((0.0, 0.0), length=2), (0.0, 1.0), "the range of x is two vectors of 2"),
        (vector((0.0, 0.0), length=2), ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), "the range of x is two vectors of 2"),
        (number(0.0), ((0.0,) * 2, (1.0,) * 2), "the range of x is two numbers"),
        (color("#000000"), (0.0, 1.0), "the range of x is two colors"),
        (color("#000000"), ((0.0, 0.0, 0.0), (0.0, 1.5, 0.0)), "1.5 is above the maximum 1.0"),
        (vector((0.0, 0.0), length=2, min=-1.0), ((0.0, -2.0), (1.0, 1.0)), "-2.0 is below the minimum -1.0"),
        (integer(3), (0.0, 9.0), ""),
        (angle(3.0, max=90.0), (0.0, 91.0), "91.0 is above the maximum 90.0"),
    ],
)
def test_invalid_end_values(declared, ends, expected):
    assert range_objection(spec_of("x", declared), Animation(range=ends).range) == expected


@pytest.mark.parametrize(
    "ends",
    [
        *((1.0, 0.0), (0.0, 0.0), ((0.0,), (0.0,)), ((0.0, 1.0), (0.0,)), ((), ()), (0.0, "#fff"), ("red", "#fff")),
        *(3, "ab", ((0.0, "x"), (1.0, 2.0)), ((math.nan, 0.0), (1.0, 2.0))),
    ],
)
def test_missing_end_values(ends):
    with pytest.raises(ParameterError):
        Animation.parse({"range": ends})


def test_an_animated_vector_is_saved_and_read_again(opened, tmp_path):
    session = opened()
    key = Key("view", "background")
    session.post(Animate(*key, Animation(shape="noise", range=((0.0, 0.25, 0.5), (1.0, 0.25, 0.0)), frequency=0.5)))
    run_frame(session)
    session.post(Save())
    run_frame(session)
    assert not session.messages and not session.unsaved
    text = (tmp_path / "scene.toml").read_text()
    assert "range = [[0.0, 0.25, 0.5], [1.0, 0.25, 0.0]]" in text
    session.post(
        Animate(*key, session.scene_edits.extras.animations[key].with_values({"range": ("#000000", "#ffffff")}))
    )
    run_frame(session)
    session.post(Save())
    run_frame(session)
    again = load(tmp_path / "scene.toml").animations[("view", "background")]
    assert again.range == ((0.0,) * 3, (1.0,) * 3) and again.shape == "noise"
