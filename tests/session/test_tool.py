"""Tools in the viewport: their position, velocity, and the models they act on."""

import math

import numpy as np
import pytest

from vertigrad.errors import ParameterError
from vertigrad.models.interaction import Gesture
from vertigrad.renderer.camera import OrbitCamera
from vertigrad.session import STEP, Session
from vertigrad.session.commands import (
    BeginInteraction,
    EndInteraction,
    MoveInteraction,
    Play,
    Reload,
    SetBrush,
    SetParameter,
    SetSpeed,
    SetTool,
    Step,
)
from vertigrad.session.tool import InteractionTool, gestures, ray

from .interactive import INTERACTIVE, do, run_frame, use_interactive
from .running import LINKED, written

SIZE = (400, 300)
MIDDLE = (200.0, 150.0)
BACKGROUND = (390.0, 10.0)  # nothing but background


@pytest.fixture
def row(steady, tmp_path, monkeypatch):
    use_interactive(monkeypatch)
    with Session(steady, written(tmp_path, INTERACTIVE)) as session:
        yield session


def model(session):
    return session.stage.instances["row"].model


def held(session):
    return session.clock.interaction


def pixel(session, position):
    """The pixel at which a position is drawn."""
    clip = session.camera.projection(SIZE[0] / SIZE[1]) @ session.camera.view() @ [*position, 1.0]
    return (clip[0] / clip[3] + 1) / 2 * SIZE[0], (1 - clip[1] / clip[3]) / 2 * SIZE[1]


@pytest.mark.parametrize("clings", [False, True])
def test_the_tool_follows_the_visible_surface(row, monkeypatch, clings):
    monkeypatch.setattr(type(model(row)), "interacts_on_surface", clings)
    row.cameras.now.yaw = 0.9  # the row extends away from the eye
    do(row, SetSpeed(0.0))
    first, last = row.stage.instances["row"].outputs["position"].numpy()[[0, -1]]
    row.post(BeginInteraction(Gesture.PAINT, pixel(row, first), SIZE))
    for _ in range(3):
        run_frame(row)
    start = held(row).point
    assert np.linalg.norm(np.subtract(start, first)) < 0.25
    do(row, MoveInteraction(pixel(row, last), SIZE))
    for _ in range(3):
        run_frame(row)
    end, eye = np.array(held(row).point), np.array(row.camera.position)
    off = np.linalg.norm(end - last)
    assert off < 0.3 if clings else off > 0.5
    assert np.cross(end - eye, held(row).direction) == pytest.approx(0.0, abs=1e-9)
    do(row, MoveInteraction(BACKGROUND, SIZE))
    for _ in range(3):
        run_frame(row)
    back = row.camera.rotation()[:, 2]
    assert (held(row).point - end) @ back == pytest.approx(0.0, abs=1e-6), "over nothing it is as deep as before"


@pytest.mark.parametrize("orthographic", [False, True])
@pytest.mark.parametrize("cursor", [(0.0, 0.0), (123.0, 250.0), MIDDLE])
def test_a_ray_hits_what_is_drawn_there(orthographic, cursor):
    camera = OrbitCamera((0.3, -1.0, 2.0), 5.0, 0.7, -0.4, 40.0, "z", orthographic)
    ray_ = ray(camera, cursor, SIZE)
    for depth in (0.5, 5.0, 40.0):
        point = [*ray_.point(depth), 1.0]
        clip = camera.projection(SIZE[0] / SIZE[1]) @ camera.view() @ point
        x, y = (clip[0] / clip[3] + 1) / 2 * SIZE[0], (1 - clip[1] / clip[3]) / 2 * SIZE[1]
        assert (x, y) == pytest.approx(cursor, abs=1e-6)
        assert -(camera.view() @ point)[2] == pytest.approx(depth), "as deep along the middle of the view"


def test_the_tool_has_the_depth_of_the_visible_surface(row):
    row.post(BeginInteraction(Gesture.PAINT, (246.0, 150.0), SIZE))
    for _ in range(3):
        run_frame(row)
    interaction = held(row)
    assert interaction.gesture is Gesture.PAINT
    eye = np.array(row.camera.position)
    assert interaction.origin == pytest.approx(tuple(eye))
    assert math.hypot(*interaction.direction) == pytest.approx(1.0)
    assert 3.85 < eye[2] - interaction.point[2] < 4.0, "the front of a ball of radius 0.1"
    on_ray = np.array(interaction.point) - eye
    assert np.cross(on_ray, interaction.direction) == pytest.approx(0.0, abs=1e-9)
    share = interaction.radius / (eye[2] - interaction.point[2]) / row.camera.pixel(1)
    assert share == pytest.approx(row.tool.brush.radius)


def test_over_the_background_the_tool_has_the_depth_of_the_target(row):
    row.post(BeginInteraction(Gesture.PAINT, BACKGROUND, SIZE))
    for _ in range(3):
        run_frame(row)
    assert held(row).point[2] == pytest.approx(0.0)


def test_the_velocity_is_in_model_time(row):
    row.post(BeginInteraction(Gesture.CUT, BACKGROUND, SIZE))
    for _ in range(3):
        run_frame(row)
    before = held(row)
    assert before.velocity == (0.0, 0.0, 0.0)
    do(row, MoveInteraction((380.0, 10.0), SIZE))
    moved = np.subtract(held(row).point, before.point)
    assert np.array(held(row).velocity) * STEP == pytest.approx(moved)
    run_frame(row)
    assert held(row).velocity == (0.0, 0.0, 0.0), "it rests"
    do(row, SetSpeed(0.5), MoveInteraction((390.0, 10.0), SIZE))
    assert np.array(held(row).velocity) * STEP * 0.5 == pytest.approx(-moved)
    do(row, SetSpeed(0.0), MoveInteraction((380.0, 10.0), SIZE))
    assert held(row).velocity == (0.0, 0.0, 0.0), "where no time passes there is no velocity"


def test_several_steps_in_a_frame_divide_a_move(row):
    row.set_pacing({"steps": 4})
    row.post(BeginInteraction(Gesture.CUT, BACKGROUND, SIZE))
    for _ in range(3):
        run_frame(row)
    before = held(row)
    do(row, MoveInteraction((380.0, 10.0), SIZE))
    moved = np.subtract(held(row).point, before.point)
    assert np.array(held(row).velocity) * 4 * STEP == pytest.approx(moved)


def test_moves_of_a_paused_simulation_have_no_velocity(row):
    row.post(BeginInteraction(Gesture.CUT, BACKGROUND, SIZE))
    for _ in range(3):
        run_frame(row)
    do(row, Play(False), MoveInteraction((100.0, 10.0), SIZE))
    before = len(model(row).interactions)
    do(row, SetParameter("models.row", "height", 0.5))
    assert len(model(row).interactions) <= before + 1 and model(row).interactions[-1] is None, (
        "it is drawn again, without interaction"
    )
    do(row, MoveInteraction((99.0, 10.0), SIZE), Step())
    assert model(row).interactions[-1] is not None
    assert np.hypot(*model(row).interactions[-1].velocity[:2]) < 1e-9


def test_models_get_each_interaction_and_its_end_once(row):
    run_frame(row)
    assert model(row).interactions == [], "no interaction yet"
    row.post(BeginInteraction(Gesture.PAINT, BACKGROUND, SIZE))
    for _ in range(4):
        run_frame(row)
    interactions = list(model(row).interactions)
    assert len(interactions) >= 2 and None not in interactions
    do(row, EndInteraction())
    run_frame(row)
    run_frame(row)
    assert model(row).interactions == [*interactions, None]


def test_an_interaction_that_ends_before_its_depth_is_known_is_dropped(row):
    do(row, BeginInteraction(Gesture.PAINT, MIDDLE, SIZE), EndInteraction())
    for _ in range(3):
        run_frame(row)
    assert model(row).interactions == [] and not row.tool.pending


def test_a_model_gets_only_gestures_that_it_supports(steady, tmp_path, monkeypatch):
    use_interactive(monkeypatch)
    two = INTERACTIVE + '[models.still]\ntype = "rising"\n[models.galaxy]\ntype = "nbody"\ncount = 16\n'
    with Session(steady, written(tmp_path, two)) as session:
        assert gestures(session.stage) == (Gesture.DRAG, Gesture.CUT, Gesture.PAINT), "in their order"
        session.post(BeginInteraction(Gesture.DRAG, BACKGROUND, SIZE))
        for _ in range(3):
            run_frame(session)  # `Model.interact` fails for a model without gestures
        assert held(session).gesture is Gesture.DRAG
        assert model(session).interactions == []


def test_a_tool_that_no_model_supports_is_rejected(row):
    do(row, SetTool(Gesture.EMIT))
    assert row.messages["interaction"] == "no model of the scene supports emit"
    assert row.tool.gesture is None
    do(row, SetTool(Gesture.CUT))
    assert not row.messages and row.tool.gesture is Gesture.CUT
    do(row, BeginInteraction(Gesture.DRAG, MIDDLE, SIZE))
    assert "drag" in row.messages["interaction"] and not row.tool.pressed
    do(row, SetTool(None))
    assert row.tool.gesture is None


def test_another_scene_ends_tool_and_interaction(row, tmp_path):
    do(row, SetTool(Gesture.CUT), BeginInteraction(Gesture.CUT, MIDDLE, SIZE))
    do(row, Reload(written(tmp_path, LINKED, "other.toml")))
    run_frame(row)
    assert row.tool.gesture is None and not row.tool.pressed and not row.messages


@pytest.mark.parametrize(("name", "value"), [("radius", 0.0), ("strength", -1.0), ("radius", "wide"), ("size", 1.0)])
def test_an_invalid_brush(row, name, value):
    before = row.tool.brush.model_copy()
    do(row, SetBrush(name, value))
    assert row.messages["brush"].startswith(name) and row.tool.brush == before
    do(row, SetBrush("strength", 2.5))
    assert row.tool.brush.strength == 2.5 and not row.messages


def test_a_tool_without_a_scene_is_rejected(row):
    with pytest.raises(ParameterError, match="emit"):
        InteractionTool(row.gpu, row.stage, row.camera, row.view).press(Gesture.EMIT, MIDDLE, SIZE)


def test_a_viewport_of_no_size_has_no_interactions(row):
    do(row, BeginInteraction(Gesture.PAINT, (0.0, 0.0), (0, 300)))
    assert not row.tool.pressed and not row.messages
    do(row, BeginInteraction(Gesture.PAINT, BACKGROUND, SIZE), MoveInteraction((0.0, 0.0), (0, 0)))
    for _ in range(3):
        run_frame(row)
    assert held(row) is not None, "it stays where it was"


def test_strength_and_radius_are_those_of_the_brush(row):
    do(row, SetBrush("strength", 3.0), SetBrush("radius", 0.2))
    row.post(BeginInteraction(Gesture.PAINT, BACKGROUND, SIZE))
    for _ in range(3):
        run_frame(row)
    assert held(row).strength == 3.0
    assert held(row).radius == pytest.approx(0.2 * row.camera.pixel(1) * 4.0)
