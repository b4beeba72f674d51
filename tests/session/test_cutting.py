"""The cutting tool: every thread under the stroke is cut, whatever is behind it, at any speed of the mouse."""

import itertools

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.models.interaction import Gesture
from vertigrad.session import Session
from vertigrad.session.commands import (
    BeginInteraction,
    EndInteraction,
    MoveInteraction,
    PlayInteractions,
    SaveInteractions,
    SetTool,
)

from .interactive import run_frame

SIZE = (480, 360)
PATH = ((60.0, 40.0), (190.0, 150.0), (310.0, 170.0), (440.0, 330.0))  # begins and ends outside the cloth


@pytest.fixture
def cloth(steady):
    """The scene, with its sheet just above the ball."""
    opened = []

    def open_(*sets):
        few = ("cloth.resolution=18", "cloth.solver_substeps=2", "cloth.self_collision=false")
        scene = resources.path("scenes", "cloth.toml")
        opened.append(Session(steady, scene, [*few, *sets]))
        return opened[-1]

    yield open_
    for session in opened:
        session.close()


def model(session):
    return session.stage.instances["cloth"].model


def torn(session):
    return model(session)._fabric.springs.numpy()[:, 0] < 0


def crossed(session, path=PATH, size=SIZE):
    """The threads that the path crosses in the image, not near their ends, at their current positions."""
    positions = session.stage.instances["cloth"].outputs["position"].numpy().reshape(-1, 3)
    matrix = session.camera.projection(size[0] / size[1]) @ session.camera.view()
    clip = np.column_stack([positions, np.ones(len(positions))]) @ matrix.T
    pixels = np.column_stack([clip[:, 0] / clip[:, 3] + 1.0, 1.0 - clip[:, 1] / clip[:, 3]]) / 2.0 * size
    a, b = pixels[model(session)._sheet.edges.T]
    found = np.zeros(len(a), bool)
    for start, end in itertools.pairwise(path):
        start, end = np.array(start), np.array(end)
        sides = [_cross(end - start, one - start) / np.linalg.norm(end - start) for one in (a, b)]
        others = [_cross(b - a, one - a) for one in (start, end)]
        found |= (sides[0] * sides[1] < 0) & (np.minimum(*np.abs(sides)) > 1.0) & (others[0] * others[1] < 0)
    return found


def _cross(one, other):
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


@pytest.mark.parametrize("ball", [0.0, 0.5])
@pytest.mark.parametrize("orthographic", [False, True])
def test_a_stroke_cuts_every_thread_that_it_crosses(cloth, ball, orthographic):
    session = cloth(f"cloth.sphere_radius={ball}", f"camera.orthographic={str(orthographic).lower()}")
    run_frame(session)
    under = crossed(session)
    session.post(BeginInteraction(Gesture.CUT, PATH[0], SIZE))
    for cursor in PATH[1:]:
        session.post(MoveInteraction(cursor, SIZE))
        run_frame(session)
    session.post(EndInteraction())
    run_frame(session)
    assert under.sum() > 25
    assert (under & ~torn(session)).sum() == 0
    assert torn(session).sum() < 2 * under.sum(), "and little else"
    run_frame(session)
    assert session.clock.interaction is None and not session.tool.pressed


def test_a_fast_stroke_within_one_frame_cuts(cloth):
    session = cloth()
    run_frame(session)
    path = PATH[0], PATH[-1]
    under = crossed(session, path)
    session.post(BeginInteraction(Gesture.CUT, path[0], SIZE))
    session.post(MoveInteraction(path[1], SIZE))
    session.post(EndInteraction())
    run_frame(session)
    assert not session.tool.pressed, "it was let go"
    run_frame(session)
    assert under.sum() > 15 and not (under & ~torn(session)).any()
    before = torn(session).sum()
    for cursor in PATH:
        session.post(MoveInteraction(cursor, SIZE))
        run_frame(session)
    assert torn(session).sum() == before and session.clock.interaction is None


def test_several_steps_in_a_frame_cover_the_whole_stroke(cloth):
    session = cloth()
    run_frame(session)
    session.set_pacing({"steps": 3})
    path = PATH[0], PATH[-1]
    under = crossed(session, path)
    session.post(BeginInteraction(Gesture.CUT, path[0], SIZE))
    session.post(MoveInteraction(path[1], SIZE))
    run_frame(session)
    interactions = [change.interaction for change in session.clock.interactions._changes if change.interaction]
    assert len(interactions) == 3, "each step has its own part of the way"
    eye = np.array(interactions[0].origin)
    for one, other in itertools.pairwise(interactions):
        assert np.add(one.point, np.array(one.velocity) / 60.0) == pytest.approx(other.point)
        assert np.cross(np.array(other.point) - eye, other.direction) == pytest.approx(0.0, abs=1e-9)
    assert not (under & ~torn(session)).any()


def test_a_recording_repeats_the_cuts(cloth, tmp_path):
    session = cloth()
    session.post(BeginInteraction(Gesture.CUT, PATH[0], SIZE))
    for cursor in PATH[1:]:
        session.post(MoveInteraction(cursor, SIZE))
        run_frame(session)
    session.carry_out(SaveInteractions(tmp_path / "cut.jsonl"))
    first, frames = torn(session), session.frame
    session.reset()
    assert not torn(session).any()
    session.carry_out(PlayInteractions(tmp_path / "cut.jsonl", restart=False))
    while session.frame < frames:
        run_frame(session)
    assert first.any() and (torn(session) == first).all()


def test_a_paused_simulation_is_not_cut(cloth):
    session = cloth()
    run_frame(session)
    session.playing = False
    for command in (
        SetTool(Gesture.CUT),
        BeginInteraction(Gesture.CUT, PATH[0], SIZE),
        MoveInteraction(PATH[-1], SIZE),
        EndInteraction(),
    ):
        session.post(command)
    run_frame(session)
    session.playing = True
    run_frame(session)
    assert not torn(session).any() and not session.tool.pressed and session.clock.interaction is None
