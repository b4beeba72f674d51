"""A model whose step is recorded once, in a session: parameters, rewinding, and steps that take several frames."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.session import Session
from vertigrad.session.commands import GoTo, Play, SetParameter, SetSpeed, Step

from .running import run_frame
from .test_pacing import cut

STATE = ("position", "velocity", "speed")


@pytest.fixture
def opened(steady: Gpu) -> Iterator:
    sessions: list[Session] = []

    def open_(replayed: bool = True) -> Session:
        sessions.append(Session(steady, resources.path("scenes", "attractor.toml"), ["thomas.count=300"]))
        session = sessions[-1]
        model = session.stage.instances["thomas"].model
        assert type(model).replayed
        if not replayed:
            model._replayed.close()
            model._replayed = None
        session.clock.set_rewind_memory(1 << 24)
        return session

    yield open_
    for session in sessions:
        session.close()


def bits(session: Session) -> bytes:
    return b"".join(session.stage.instances["thomas"].outputs[name].numpy().tobytes() for name in STATE)


def run(session: Session, frames: int = 4) -> list[bytes]:
    found = []
    for _ in range(frames):
        run_frame(session)
        found.append(bits(session))
    return found


def test_a_replayed_model_gives_the_same_states_as_one_that_is_not_replayed(opened) -> None:
    found = []
    for replayed in (True, False):
        session = opened(replayed)
        observed = run(session)
        for command in (SetParameter("models.thomas", "b", 0.3), SetSpeed(2.0), Play(False)):
            session.post(command)
            observed += run(session)
        session.post(SetParameter("models.thomas", "rate", 1.0))
        observed += run(session, 2)
        session.post(Step(3))
        observed += run(session)
        found.append(observed)
    assert found[0] == found[1]


@pytest.mark.turns(3)
def test_earlier_frames_are_recomputed_bit_for_bit(opened) -> None:
    session = opened()
    states = dict(enumerate(run(session, 40), 1))
    session.post(SetParameter("models.thomas", "b", 0.3))
    states |= dict(enumerate(run(session, 5), 41))
    for frame in (43, 7, 22):
        session.post(GoTo(frame))
        run_frame(session)
        while not session.clock.idle:
            run_frame(session)
        assert session.frame == frame and bits(session) == states[frame], frame


def test_steps_that_take_several_frames_are_the_same(opened) -> None:
    whole = dict(enumerate(run(opened(), 6), 1))
    session = opened()
    cut(session)
    frames = 0
    while session.frame < 6:
        run_frame(session)
        frames += 1
        assert session.frame == 0 or bits(session) == whole[session.frame]
    assert frames >= 6 * 10
