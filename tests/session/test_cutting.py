"""A cut by hand: every thread under the stroke is parted, whatever lies behind, however fast the hand is."""

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
WAY = ((60.0, 40.0), (190.0, 150.0), (310.0, 170.0), (440.0, 330.0))  # begins and ends beside the cloth


@pytest.fixture
def cloth(steady):
    """The scene, its sheet just above the ball."""
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


def crossed(session, way=WAY, size=SIZE):
    """The threads that the way crosses in the picture, well within, as the cloth lies now."""
    places = session.stage.instances["cloth"].outputs["position"].numpy().reshape(-1, 3)
    matrix = session.camera.projection(size[0] / size[1]) @ session.camera.view()
    clip = np.column_stack([places, np.ones(len(places))]) @ matrix.T
    seen = np.column_stack([clip[:, 0] / clip[:, 3] + 1.0, 1.0 - clip[:, 1] / clip[:, 3]]) / 2.0 * size
    a, b = seen[model(session)._sheet.edges.T]
    found = np.zeros(len(a), bool)
    for start, end in itertools.pairwise(way):
        start, end = np.array(start), np.array(end)
        sides = [_cross(end - start, one - start) / np.linalg.norm(end - start) for one in (a, b)]
        others = [_cross(b - a, one - a) for one in (start, end)]
        found |= (sides[0] * sides[1] < 0) & (np.minimum(*np.abs(sides)) > 1.0) & (others[0] * others[1] < 0)
    return found


def _cross(one, other):
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


@pytest.mark.parametrize("ball", [0.0, 0.5])
@pytest.mark.parametrize("orthographic", [False, True])
def test_a_stroke_parts_every_thread_that_it_crosses(cloth, ball, orthographic):
    session = cloth(f"cloth.sphere_radius={ball}", f"camera.orthographic={str(orthographic).lower()}")
    run_frame(session)
    under = crossed(session)
    session.post(BeginInteraction(Gesture.CUT, WAY[0], SIZE))
    for place in WAY[1:]:
        session.post(MoveInteraction(place, SIZE))
        run_frame(session)
    session.post(EndInteraction())
    run_frame(session)
    assert under.sum() > 25
    assert (under & ~torn(session)).sum() == 0
    assert torn(session).sum() < 2 * under.sum(), "and little else"
    run_frame(session)
    assert session.clock.interaction is None and not session.tool.pressed


def test_a_flick_within_one_picture_cuts(cloth):
    session = cloth()
    run_frame(session)
    way = WAY[0], WAY[-1]
    under = crossed(session, way)
    session.post(BeginInteraction(Gesture.CUT, way[0], SIZE))
    session.post(MoveInteraction(way[1], SIZE))
    session.post(EndInteraction())
    run_frame(session)
    assert not session.tool.pressed, "it was let go"
    run_frame(session)
    assert under.sum() > 15 and not (under & ~torn(session)).any()
    before = torn(session).sum()
    for place in WAY:
        session.post(MoveInteraction(place, SIZE))
        run_frame(session)
    assert torn(session).sum() == before and session.clock.interaction is None


def test_several_steps_in_a_picture_go_the_whole_way(cloth):
    session = cloth()
    run_frame(session)
    session.set_pacing({"steps": 3})
    way = WAY[0], WAY[-1]
    under = crossed(session, way)
    session.post(BeginInteraction(Gesture.CUT, way[0], SIZE))
    session.post(MoveInteraction(way[1], SIZE))
    run_frame(session)
    told = [change.interaction for change in session.clock.interactions._changes if change.interaction]
    assert len(told) == 3, "each step has its own part of the way"
    eye = np.array(told[0].origin)
    for one, other in itertools.pairwise(told):
        assert np.add(one.point, np.array(one.velocity) / 60.0) == pytest.approx(other.point)
        assert np.cross(np.array(other.point) - eye, other.direction) == pytest.approx(0.0, abs=1e-9)
    assert not (under & ~torn(session)).any()


def test_what_is_cut_is_cut_again_from_a_record(cloth, tmp_path):
    session = cloth()
    session.post(BeginInteraction(Gesture.CUT, WAY[0], SIZE))
    for place in WAY[1:]:
        session.post(MoveInteraction(place, SIZE))
        run_frame(session)
    session.carry_out(SaveInteractions(tmp_path / "cut.jsonl"))
    first, frames = torn(session), session.frame
    session.reset()
    assert not torn(session).any()
    session.carry_out(PlayInteractions(tmp_path / "cut.jsonl", restart=False))
    while session.frame < frames:
        run_frame(session)
    assert first.any() and (torn(session) == first).all()


def test_time_that_stands_still_cuts_nothing(cloth):
    session = cloth()
    run_frame(session)
    session.playing = False
    for command in (
        SetTool(Gesture.CUT),
        BeginInteraction(Gesture.CUT, WAY[0], SIZE),
        MoveInteraction(WAY[-1], SIZE),
        EndInteraction(),
    ):
        session.post(command)
    run_frame(session)
    session.playing = True
    run_frame(session)
    assert not torn(session).any() and not session.tool.pressed and session.clock.interaction is None
