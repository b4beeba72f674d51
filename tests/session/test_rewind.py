"""Rewinding: earlier states are reproduced bit for bit, within a memory limit."""

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.session import STEP, Session
from vertigrad.session.commands import (
    Freeze,
    GoTo,
    InspectTensor,
    Play,
    Reset,
    SetParameter,
    SetSeed,
    SetSpeed,
    SetSubsteps,
    Step,
)
from vertigrad.session.inspector import TensorRange
from vertigrad.session.rewind import ZERO_STEPS
from vertigrad.session.snapshots import PAUSE

from .running import LINKED, copied, run_frame, values

PLENTY = 1 << 24
BODIES = ("position", "velocity")


@pytest.fixture
def galaxy(steady: Gpu):
    """A session of few bodies with a snapshot of every frame; closed after the test."""
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=96"]) as session:
        session.clock.set_rewind_memory(PLENTY)
        yield session


def do(session: Session, *commands) -> None:
    """Execute commands, and run frames until the paused models are up to date."""
    for command in commands:
        session.post(command)
    run_frame(session)
    while not session.playing and not session.clock.idle:
        run_frame(session)


def bits(session: Session, model: str = "galaxy") -> bytes:
    """The state of a model."""
    state = session.stage.instances[model].model.state()
    return b"".join(tensor.numpy().tobytes() for tensor in state.values())


def recorded(session: Session, frames: int) -> dict[int, bytes]:
    """The state in each frame, from the current one on."""
    states = {session.frame: bits(session)}
    for _ in range(frames):
        run_frame(session)
        states[session.frame] = bits(session)
    return states


# rewinding ----------------------------------------------------------------------------------------------------------


def test_every_earlier_frame_is_restored_bit_for_bit(galaxy):
    was = recorded(galaxy, 30)
    assert len(set(was.values())) == 31, "something moves in each frame"
    for frame in (29, 0, 17, 18, 30, 3):
        do(galaxy, GoTo(frame))
        assert (galaxy.frame, bits(galaxy) == was[frame]) == (frame, True)
        assert galaxy.time == pytest.approx(frame * STEP)
        assert not galaxy.playing


@pytest.mark.turns(3)
def test_frames_without_a_snapshot_are_simulated_again(galaxy):
    galaxy.clock.rewind.snapshots.limit = 40 * snapshot_bytes(galaxy)
    was = recorded(galaxy, 150)
    saved = list(galaxy.clock.rewind.snapshots)
    missing = [frame for frame in range(saved[0], 151) if frame not in saved]
    assert len(saved) <= 40 and len(missing) > 20
    for frame in [*missing[::7], missing[-1]]:
        do(galaxy, GoTo(frame))
        assert (galaxy.frame, bits(galaxy) == was[frame]) == (frame, True)
        assert list(galaxy.clock.rewind.snapshots) == saved, "looking back changes nothing"


def snapshot_bytes(session: Session) -> int:
    state = session.stage.instances["galaxy"].model.state()
    return sum(tensor.block.capacity for tensor in state.values())


@pytest.mark.turns(3)
def test_earlier_parameters_are_restored(galaxy):
    galaxy.clock.rewind.snapshots.limit = 33 * snapshot_bytes(galaxy)
    was = {}
    for frame in range(1, 121):
        galaxy.post(SetParameter("models.galaxy", "softening", 0.05 + 0.001 * frame))
        if frame == 40:
            galaxy.post(SetSubsteps("galaxy", 3))
        if frame == 60:
            galaxy.post(SetSpeed(0.5))
        run_frame(galaxy)
        was[frame] = bits(galaxy)
    saved = set(galaxy.clock.rewind.snapshots)
    for frame in (119, 45, 61, 62, 100, 41):
        do(galaxy, GoTo(frame))
        assert bits(galaxy) == was[frame], frame
    assert not {119, 45, 61, 41} <= saved, "some of them were simulated again"
    assert galaxy.stage.instances["galaxy"].params.softening == pytest.approx(0.17), "sliders stay where they are"
    assert galaxy.stage.instances["galaxy"].substeps == 3
    do(galaxy, GoTo(1))
    assert bits(galaxy) == was[1]


def test_earlier_substeps_are_restored(galaxy):
    galaxy.clock.rewind.snapshots.limit = 33 * snapshot_bytes(galaxy)
    was = recorded(galaxy, 20)
    galaxy.post(SetSubsteps("galaxy", 3))
    was |= recorded(galaxy, 40)
    saved = list(galaxy.clock.rewind.snapshots)
    missing = [frame for frame in range(saved[0], 60) if frame not in saved]
    assert missing[0] < 20 < missing[-1]
    for frame in (missing[-1], missing[0]):
        do(galaxy, GoTo(frame))
        assert bits(galaxy) == was[frame]


def test_updates_of_a_paused_model_are_part_of_the_history(galaxy):
    """A step of zero time changes the forces from which the next step continues."""
    galaxy.clock.rewind.snapshots.limit = 33 * snapshot_bytes(galaxy)
    recorded(galaxy, 10)
    do(galaxy, Play(False), SetParameter("models.galaxy", "softening", 0.5))
    do(galaxy, SetParameter("models.galaxy", "softening", 0.7))
    touched = bits(galaxy)
    galaxy.post(Play(True))
    was = recorded(galaxy, 60)
    assert 11 not in galaxy.clock.rewind.snapshots or 12 not in galaxy.clock.rewind.snapshots
    for frame in (11, 12, 40):
        do(galaxy, GoTo(frame))
        assert bits(galaxy) == was[frame]
    do(galaxy, GoTo(10))
    assert bits(galaxy) == touched


def test_many_changes_of_a_paused_model_keep_its_history(galaxy):
    was = recorded(galaxy, 5)
    do(galaxy, Play(False))
    for number in range(ZERO_STEPS + 10):
        do(galaxy, SetParameter("models.galaxy", "softening", 0.1 + 0.001 * number))
    touched = bits(galaxy)
    do(galaxy, Step(2))
    do(galaxy, GoTo(5))
    assert bits(galaxy) == touched
    do(galaxy, GoTo(4))
    assert bits(galaxy) == was[4]


def test_a_dropped_frame_leaves_the_history_unchanged(galaxy):
    """Also one in which a paused model was changed so often that a snapshot replaces its changes."""
    was = recorded(galaxy, 5)
    do(galaxy, Play(False))
    for number in range(ZERO_STEPS):
        do(galaxy, SetParameter("models.galaxy", "softening", 0.1 + 0.001 * number))
    touched = bits(galaxy)

    def dropped():
        with galaxy.gpu.frames.frame():
            galaxy.apply()
            galaxy.advance()
            raise RuntimeError("dropped")

    galaxy.post(SetParameter("models.galaxy", "softening", 0.5))
    with pytest.raises(RuntimeError, match="dropped"):
        dropped()
    galaxy.frame_dropped()
    assert bits(galaxy) == touched and galaxy.frame == 5
    galaxy.clock.play(True)
    was |= recorded(galaxy, 3)
    for frame in (7, 5, 6, 3):
        do(galaxy, GoTo(frame))
        assert bits(galaxy) == was[galaxy.frame], frame
    assert galaxy.frame == 3


def test_stepping_forward_repeats_the_frames_until_an_edit(galaxy):
    was = recorded(galaxy, 20)
    rewind = galaxy.clock.rewind
    do(galaxy, GoTo(8))
    do(galaxy, Step(4))
    assert (galaxy.frame, bits(galaxy) == was[12], rewind.last) == (12, True, 20)
    do(galaxy, SetParameter("models.galaxy", "softening", 1.0))
    assert (galaxy.frame, rewind.last) == (12, 12), "what came after it is another run"
    do(galaxy, Step())
    assert bits(galaxy) != was[13]
    other = bits(galaxy)
    do(galaxy, Step(3))
    do(galaxy, GoTo(13))
    assert bits(galaxy) == other
    do(galaxy, GoTo(12), GoTo(11))
    assert bits(galaxy) == was[11]


def test_step_back_by_one_and_by_many(galaxy):
    was = recorded(galaxy, 12)
    do(galaxy, Step(-1))
    assert (galaxy.frame, bits(galaxy) == was[11]) == (11, True)
    do(galaxy, Step(-4))
    assert (galaxy.frame, bits(galaxy) == was[7]) == (7, True)
    do(galaxy, Step(-100))
    assert (galaxy.frame, bits(galaxy) == was[0], galaxy.time) == (0, True, 0.0)


def test_steps_back_add_up_while_a_frame_is_recomputed(galaxy):
    galaxy.clock.rewind.snapshots.limit = 33 * snapshot_bytes(galaxy)
    was = recorded(galaxy, 120)
    goal = 120 - 110 - 3
    for command in (Step(-110), Step(-1), Step(-1), Step(-1)):
        galaxy.post(command)
    do(galaxy)
    assert (galaxy.frame, bits(galaxy) == was[goal]) == (goal, True)


def test_rewinding_changes_what_is_drawn(opened):
    session = opened(LINKED)
    session.clock.set_rewind_memory(PLENTY)
    for _ in range(9):
        run_frame(session)
    do(session, GoTo(4))
    assert values(session, "row.position")[0, 1] == pytest.approx(4 * STEP)
    assert values(session, "late.position")[0, 1] == pytest.approx(-2.0 * 4 * STEP)
    row = session.stage.instances["row"].outputs["position"]
    assert session.stage.layers["dots"].report()["position"]["block"] == row.block.id
    assert row.block.published == 1


def test_scalar_state_is_restored_too(steady: Gpu):
    scene = resources.path("scenes", "neural_field.toml")
    with Session(steady, scene, ["terrain.resolution=8"]) as session:
        session.clock.set_rewind_memory(PLENTY)
        cycles = [session.stage.instances["terrain"].model.scalar_state()["cycle"]]
        was = [bits(session, "terrain")]
        for _ in range(12):
            run_frame(session)
            cycles.append(session.stage.instances["terrain"].model.scalar_state()["cycle"])
            was.append(bits(session, "terrain"))
        do(session, GoTo(5))
        assert session.stage.instances["terrain"].model.scalar_state()["cycle"] == cycles[5]
        assert bits(session, "terrain") == was[5]
        do(session, Step(7))
        assert bits(session, "terrain") == was[12]


# bounds -------------------------------------------------------------------------------------------------------------


def test_snapshots_stay_within_their_memory_limit_and_the_history_is_long(galaxy, steady: Gpu):
    before = steady.tracker.live_bytes
    each = snapshot_bytes(galaxy)
    galaxy.clock.rewind.snapshots.limit = 40 * each
    for _ in range(400):
        run_frame(galaxy)
        snapshots = galaxy.clock.rewind.snapshots
        assert snapshots.nbytes <= 40 * each
    assert steady.tracker.live_bytes - before <= 40 * each
    saved = list(snapshots)
    gaps = np.diff(saved)
    assert saved == sorted(saved)
    assert saved[0] <= 400 - 150, "it reaches back much further than there are snapshots"
    assert gaps[-8:].tolist() == [1] * 8, "the last frames are all there"
    assert gaps.max() <= 64
    assert len(galaxy.clock.rewind._steps) <= 400 - saved[0] + 1, "only steps that can be recomputed are stored"


def test_large_states_are_stored_in_some_frames_only(galaxy):
    galaxy.clock.rewind.snapshots.limit = 4 * snapshot_bytes(galaxy)
    was = recorded(galaxy, 40)
    saved = list(galaxy.clock.rewind.snapshots)
    assert len(saved) <= 4 and np.diff(saved).min() >= 8
    do(galaxy, GoTo(37))
    assert bits(galaxy) == was[37]


def test_a_state_larger_than_the_rewind_memory_has_no_snapshots(galaxy):
    galaxy.clock.rewind.snapshots.limit = snapshot_bytes(galaxy) - 1
    recorded(galaxy, 5)
    assert len(galaxy.clock.rewind.snapshots) == 0
    galaxy.post(GoTo(2))
    run_frame(galaxy)
    assert "nothing to rewind to" in galaxy.messages["time"]
    assert galaxy.frame >= 5


def test_the_bound_can_be_changed_while_it_runs(galaxy, steady: Gpu):
    recorded(galaxy, 20)
    before = steady.tracker.live_bytes
    galaxy.clock.set_rewind_memory(6 * snapshot_bytes(galaxy))
    run_frame(galaxy)
    assert len(galaxy.clock.rewind.snapshots) <= 6
    assert steady.tracker.live_bytes < before
    galaxy.clock.set_rewind_memory(0)
    assert len(galaxy.clock.rewind.snapshots) == 0
    recorded(galaxy, 3)
    galaxy.clock.set_rewind_memory(PLENTY)
    was = recorded(galaxy, 6)
    first = galaxy.clock.rewind.first
    assert first >= 24
    do(galaxy, GoTo(first + 2))
    assert bits(galaxy) == was[first + 2]


def test_copies_are_counted_as_snapshots_and_not_as_geometry(galaxy, steady: Gpu):
    before, copies = copied(steady), steady.meter.read()["snapshots"]["device_to_device"]
    for _ in range(5):
        run_frame(galaxy)
    assert copied(steady) == before
    state = galaxy.stage.instances["galaxy"].model.state()
    moved = steady.meter.read()["snapshots"]["device_to_device"] - copies
    assert moved in (5 * sum(t.nbytes for t in state.values()), 6 * sum(t.nbytes for t in state.values()))
    do(galaxy, GoTo(2))
    assert copied(steady) == before


def test_without_a_bound_nothing_is_copied(steady: Gpu):
    with Session(steady, resources.path("scenes", "nbody.toml"), ["galaxy.count=96"]) as session:
        before = steady.meter.read()
        for _ in range(4):
            run_frame(session)
        assert steady.meter.read()["snapshots"] == before["snapshots"]
        assert len(session.clock.rewind._steps) <= 1


def test_models_stay_in_their_blocks(galaxy):
    def where() -> list[int]:
        return [tensor.block.id for tensor in galaxy.stage.instances["galaxy"].model.state().values()]

    before = where()
    recorded(galaxy, 6)
    do(galaxy, GoTo(3))
    assert where() == before


def test_snapshots_are_freed_when_memory_is_short(galaxy, steady: Gpu, monkeypatch):
    galaxy.clock.set_rewind_memory(1 << 30)
    recorded(galaxy, 40)
    steady.pool.trim()
    monkeypatch.setattr(steady.pool, "budget", steady.pool.held_bytes + (1 << 12))
    galaxy.post(SetParameter("models.galaxy", "count", 400))
    run_frame(galaxy)
    assert galaxy.messages == {}
    assert galaxy.stage.instances["galaxy"].params.count == 400


def test_fewer_frames_get_a_snapshot_when_fewer_fit(galaxy):
    snapshots = galaxy.clock.rewind.snapshots
    recorded(galaxy, 1)
    each = snapshots.nbytes // len(snapshots)
    for room, every in ((40, 1), (32, 1), (31, 2), (16, 2), (15, 4), (8, 4), (3, 16), (2, 16), (1, 32)):
        snapshots.limit = room * each + each // 2
        assert (snapshots.room, snapshots.every) == (room, every)
        assert len(snapshots) <= room
    snapshots.clear()
    assert (len(snapshots), snapshots.last, snapshots.nbytes) == (0, -1, 0)


def test_a_snapshot_without_memory_does_not_stop_the_run(galaxy, steady: Gpu, monkeypatch):
    recorded(galaxy, 3)
    take = steady.pool.take

    refused: list[str] = []

    def refuse(nbytes, name="", origin=None):
        if " in frame " in name:
            refused.append(name)
            raise OutOfMemory("none left")
        return take(nbytes, name, origin)

    with monkeypatch.context() as patch:
        patch.setattr(steady.pool, "take", refuse)
        recorded(galaxy, 3)
        assert galaxy.frame == 6
        assert len(galaxy.clock.rewind.snapshots) == 0
        assert "GPU memory is short" in galaxy.messages["snapshots"]
        tried = len(refused)
        recorded(galaxy, 10)
        assert len(refused) == tried, "it is not tried in every frame"
    for _ in range(PAUSE):
        run_frame(galaxy)
    assert len(galaxy.clock.rewind.snapshots) > 0, "there is room again"
    assert "snapshots" not in galaxy.messages
    was = recorded(galaxy, 4)
    do(galaxy, GoTo(galaxy.frame - 3))
    assert bits(galaxy) == was[galaxy.frame]


def test_snapshots_are_freed_for_other_allocations(galaxy, steady: Gpu):
    recorded(galaxy, 3)
    saved = galaxy.clock.rewind.snapshots.limit
    steady.pool.spill()
    assert len(galaxy.clock.rewind.snapshots) == 0
    run_frame(galaxy)
    assert "GPU memory is short" in galaxy.messages["snapshots"]
    assert len(galaxy.clock.rewind.snapshots) == 0, "the room is needed by others"
    for _ in range(PAUSE):
        run_frame(galaxy)
    assert len(galaxy.clock.rewind.snapshots) > 0
    assert galaxy.clock.rewind.snapshots.limit == saved


def test_the_pause_without_snapshots_grows_while_memory_stays_short(galaxy, steady: Gpu, monkeypatch):
    recorded(galaxy, 1)
    frames: list[int] = []
    take = steady.pool.take

    def refuse(nbytes, name="", origin=None):
        if " in frame " in name:
            frames.append(galaxy.frame)
            raise OutOfMemory("none left")
        return take(nbytes, name, origin)

    monkeypatch.setattr(steady.pool, "take", refuse)
    while galaxy.frame < 8 * PAUSE:
        run_frame(galaxy)
    assert np.diff(frames).tolist() == [PAUSE, 2 * PAUSE, 4 * PAUSE]


def test_a_step_back_leaves_a_tensor_that_was_frozen(galaxy):
    recorded(galaxy, 5)
    do(galaxy, Play(False), InspectTensor(TensorRange("galaxy.position")), Freeze())
    assert galaxy.inspector.frozen is not None
    frozen = galaxy.inspector.frozen.numpy()
    do(galaxy, Step(-3))
    assert np.array_equal(galaxy.inspector.frozen.numpy(), frozen)
    assert not np.array_equal(values(galaxy, "galaxy.position"), frozen)


# what clears the buffer ---------------------------------------------------------------------------------------------


def test_a_reset_begins_a_new_history(galaxy):
    was = recorded(galaxy, 8)
    do(galaxy, Reset())
    rewind = galaxy.clock.rewind
    assert (rewind.first, galaxy.frame) == (0, 1)
    assert bits(galaxy) == was[1]
    do(galaxy, GoTo(0))
    assert bits(galaxy) == was[0]


def test_rebuilt_models_have_no_history_and_time_continues(galaxy):
    recorded(galaxy, 8)
    galaxy.post(SetParameter("models.galaxy", "count", 50))
    run_frame(galaxy)
    rewind = galaxy.clock.rewind
    assert (galaxy.frame, rewind.first) == (9, 8)
    do(galaxy, Step(-100))
    assert galaxy.frame == 8
    assert bits(galaxy)


# the same run -------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize(("scene", "small"), [("nbody", "galaxy.count=200"), ("neural_field", "terrain.resolution=9")])
def test_a_restart_is_the_same_run_bit_for_bit(steady: Gpu, scene, small):
    with Session(steady, resources.path("scenes", f"{scene}.toml"), [small]) as session:
        model = next(iter(session.stage.instances))

        def run() -> list[bytes]:
            return [bits(session, model) for _ in range(12) if run_frame(session) is None]

        first = run()
        session.post(Reset())
        again = run()
        assert again == first
        assert session.frame == 12
    with Session(steady, resources.path("scenes", f"{scene}.toml"), [small]) as session:
        assert [bits(session, model) for _ in range(12) if run_frame(session) is None] == first


def test_another_seed_gives_another_run_and_the_old_seed_the_old_one(galaxy):
    was = recorded(galaxy, 4)
    do(galaxy, SetSeed(99))
    assert galaxy.stage.instances["galaxy"].spec.seed == 99
    assert galaxy.frame == 1
    assert bits(galaxy) != was[1]
    do(galaxy, SetSeed(7, "galaxy"))
    assert bits(galaxy) == was[1]
    do(galaxy, SetParameter("models.galaxy", "count", 90), SetSeed(5))
    assert galaxy.stage.instances["galaxy"].params.count == 90, "a seed changes nothing else"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (SetSeed(-1), "seed"),
        (SetSeed(3, "nobody"), "nobody"),
        (SetSubsteps("galaxy", 0), "substeps"),
        (SetSubsteps("nobody", 2), "nobody"),
        (SetSpeed(float("nan")), "speed"),
    ],
)
def test_invalid_commands_are_reported(galaxy, command, message):
    recorded(galaxy, 2)
    state = galaxy.stage.instances["galaxy"].model
    galaxy.post(command)
    run_frame(galaxy)
    assert message in galaxy.messages[command.topic]
    assert galaxy.stage.instances["galaxy"].model is state and galaxy.frame == 3


def test_substeps_change_immediately(galaxy):
    whole = recorded(galaxy, 1)[1]
    do(galaxy, GoTo(0), SetSubsteps("galaxy", 4), Step())
    assert bits(galaxy) != whole
    assert galaxy.time == pytest.approx(STEP)
    do(galaxy, GoTo(0), SetSubsteps("galaxy", 1), Step())
    assert bits(galaxy) == whole
