"""A step that is too long for one frame is split over several, while the previous step is drawn."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import OutOfMemory
from vertigrad.gpu import Gpu, Kernel, Plan
from vertigrad.gpu.deferred import Deferred, Spares
from vertigrad.session import STEP, Session
from vertigrad.session.commands import GoTo, Play, Reset, SetPacing, SetParameter, SetSeed, SetSubsteps, Step
from vertigrad.session.pacing import PROBE, Pacer
from vertigrad.tensor import Tensor

from .running import LINKED, Rising, copied, run_frame, values


@pytest.fixture(autouse=True)
def two_in_flight(gpu: Gpu):
    before = gpu.frames.in_flight
    yield
    gpu.frames.in_flight = before


def opened_galaxy(gpu: Gpu, count: int = 600, **options) -> Session:
    return Session(gpu, resources.path("scenes", "nbody.toml"), [f"galaxy.count={count}"], **options)


class Sparing(Pacer):
    """Split every step into as many parts as possible: one workgroup per frame."""

    slices = True  # type: ignore[assignment]

    def begin(self, in_flight: bool) -> None:
        self.granted = False

    def end(self) -> None:
        pass

    def has_time(self) -> bool:
        return not self.granted

    def grant(self, group: str, kernel: Kernel, left: int, splits: bool) -> int:
        first, self.granted = not self.granted, True
        return (1 if splits else left) if first else 0


def cut(session: Session) -> None:
    """Allow at most one workgroup per frame."""
    session.clock.pacer = Sparing(session.gpu)


def bits(session: Session, model: str = "galaxy") -> bytes:
    state = session.stage.instances[model].model.state()
    return b"".join(tensor.numpy().tobytes() for tensor in state.values())


def whole_steps(gpu: Gpu, frames: int, **options) -> list[bytes]:
    """The states of a run that is not paced."""
    with opened_galaxy(gpu, **options) as session:
        states = [bits(session)]
        for _ in range(frames):
            run_frame(session)
            states.append(bits(session))
    return states


def until(session: Session, frame: int, most: int = 400) -> int:
    """Run until the models have finished the step; return the number of frames."""
    for count in range(most):
        if session.frame >= frame:
            return count
        run_frame(session)
    raise AssertionError(f"at frame {session.frame} of {frame} after {most} frames")


# one consistent step ------------------------------------------------------------------------------------------------


def test_every_frame_shows_a_whole_step_and_the_bits_are_the_same(steady: Gpu):
    whole = whole_steps(steady, 4)
    with opened_galaxy(steady) as session:
        cut(session)
        images = 0
        while session.frame < 4:
            run_frame(session)
            images += 1
            assert bits(session) == whole[session.frame]
            assert session.time == pytest.approx(session.frame * STEP)
        assert images >= 4 * 10, "600 bodies are ten workgroups, and each took a frame"


def test_all_models_finish_a_step_in_the_same_frame(opened, steady: Gpu):
    session = opened(LINKED)
    cut(session)
    observed = set()
    for _ in range(12):
        run_frame(session)
        rise, late = values(session, "row.position")[0, 1], values(session, "late.position")[0, 1]
        assert rise == pytest.approx(session.frame * STEP)
        assert late == pytest.approx(-2.0 * rise)
        observed.add(session.frame)
    assert observed == {0, 1, 2, 3, 4}, "three dispatches, one in each frame"


def test_layers_draw_the_last_whole_step(steady: Gpu):
    with opened_galaxy(steady) as session:
        cut(session)
        layer, output = session.stage.layers["stars"], session.stage.instances["galaxy"].outputs["position"]
        drawn = {}
        while session.frame < 3:
            run_frame(session)
            block = next(iter(layer.blocks()))
            assert block is output.block and block.published
            drawn.setdefault(session.frame, set()).add(block.id)
        assert all(len(blocks) == 1 for blocks in drawn.values())
        assert drawn[1] != drawn[2], "the next step was written elsewhere"


def test_two_sets_of_blocks_alternate_and_nothing_is_allocated(steady: Gpu):
    with opened_galaxy(steady) as session:
        session.post(SetSubsteps("galaxy", 2))
        cut(session)
        until(session, 2)
        model = session.stage.instances["galaxy"].model
        where, held = [], steady.pool.held_bytes
        taken = steady.pool.take
        steady.pool.take = lambda *arguments: pytest.fail("a block was taken") if arguments else taken(*arguments)
        try:
            for frame in range(3, 8):
                until(session, frame)
                where.append(tuple(tensor.block.id for tensor in model.state().values()))
        finally:
            del steady.pool.take
        assert len(set(where)) == 2 and where[0] == where[2] == where[4]
        assert steady.pool.held_bytes == held
        assert len(model._step._encodings._lists) == 2, "and as many lists of bind groups"


def test_the_copy_that_is_drawn_is_counted_as_intended(steady: Gpu):
    with opened_galaxy(steady) as session:
        cut(session)
        before, snapshot_bytes = copied(steady), steady.meter.read()["snapshots"]["device_to_device"]
        until(session, 3)
        assert copied(steady) == before
        assert steady.meter.read()["snapshots"]["device_to_device"] > snapshot_bytes


def test_blocks_of_the_other_set_are_released(steady: Gpu):
    with opened_galaxy(steady) as session:
        steady.wait_idle()
        live = len(steady.tracker.live)
        cut(session)
        until(session, 3)
        session.post(Reset())
        session.post(Play(False))
        run_frame(session)
        written = (
            "bodies",
            "velocities",
            "accelerations",
            "energies",
            "sums",
            "reference",
        )  # the last three in the first step
        assert len(steady.tracker.live) <= live + len(written)


def test_a_neural_field_is_the_same_bit_for_bit(steady: Gpu):
    scene = resources.path("scenes", "neural_field.toml")

    def run(paced: bool) -> list[bytes]:
        with Session(steady, scene, ["terrain.resolution=40"]) as session:
            if paced:
                cut(session)
            states = []
            for frame in range(1, 5):
                until(session, frame)
                states.append(bits(session, "terrain"))
            return states

    assert run(paced=True) == run(paced=False)


# edits during a step ---------------------------------------------------------------------------------------------


def midway(session: Session, frame: int = 1, parts: int = 3) -> None:
    """Run to `frame`, and some parts of the next step."""
    until(session, frame)
    for _ in range(parts):
        run_frame(session)
    assert session.frame == frame and session.stage.in_progress is not None


def test_a_parameter_changed_midway_takes_effect_in_the_next_step(steady: Gpu):
    whole = whole_steps(steady, 2)
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        session.post(SetParameter("models.galaxy", "softening", 1.0))
        until(session, 2)
        assert bits(session) == whole[2]
        until(session, 3)
        after = bits(session)
    with opened_galaxy(steady) as session:
        for frame in range(3):
            if frame == 2:
                session.post(SetParameter("models.galaxy", "softening", 1.0))
            run_frame(session)
        assert bits(session) == after


def test_a_pause_midway_costs_nothing_and_the_step_continues_after_it(steady: Gpu):
    whole = whole_steps(steady, 3)
    with opened_galaxy(steady) as session:
        cut(session)
        until(session, 1)
        full = until(session, 2)
        midway(session, frame=2)
        session.post(Play(False))
        run_frame(session)
        assert session.idle
        dispatches = steady.recorder.dispatches
        for _ in range(20):
            run_frame(session)
        assert steady.recorder.dispatches == dispatches
        assert session.frame == 2 and bits(session) == whole[2]
        session.post(Step())
        assert until(session, 3) <= full - 3, "it continues where it was"
        assert bits(session) == whole[3]
        run_frame(session)
        assert session.idle


def test_the_update_of_a_paused_model_is_split_too(steady: Gpu):
    with opened_galaxy(steady) as session:
        run_frame(session)
        session.post(Play(False))
        session.post(SetParameter("models.galaxy", "softening", 1.0))
        run_frame(session)
        direct = bits(session)
    with opened_galaxy(steady) as session:
        run_frame(session)
        cut(session)
        session.post(Play(False))
        session.post(SetParameter("models.galaxy", "softening", 1.0))
        run_frame(session)
        before = bits(session)
        assert before != direct and not session.idle
        for _ in range(40):
            run_frame(session)
        assert session.idle and bits(session) == direct
        assert session.frame == 1


def test_a_change_after_a_pause_midway_drops_the_step(steady: Gpu):
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        session.post(Play(False))
        session.post(SetParameter("models.galaxy", "softening", 1.0))
        for _ in range(40):
            run_frame(session)
        assert session.frame == 1 and session.idle
        session.post(Step())
        until(session, 2)
        in_parts = bits(session)
    with opened_galaxy(steady) as session:
        run_frame(session)
        session.post(Play(False))
        session.post(SetParameter("models.galaxy", "softening", 1.0))
        run_frame(session)
        session.post(Step())
        run_frame(session)
        assert bits(session) == in_parts


def test_a_dropped_step_restores_state_outside_of_tensors(steady: Gpu):
    scene = resources.path("scenes", "neural_field.toml")
    with Session(steady, scene, ["terrain.resolution=40"]) as session:
        model = session.stage.instances["terrain"].model
        cut(session)
        until(session, 2)
        cycle = model.scalar_state()["cycle"]
        run_frame(session)
        assert session.frame == 2 and session.stage.in_progress is not None
        session.post(Play(False))
        session.post(SetParameter("models.terrain", "height", 1.0))
        for _ in range(8):
            run_frame(session)
        assert session.idle and session.frame == 2
        assert model.scalar_state()["cycle"] == cycle


def test_reset_midway(steady: Gpu):
    whole = whole_steps(steady, 2)
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        session.post(Reset())
        run_frame(session)
        assert session.frame == 0 and bits(session) == whole[0]
        until(session, 2)
        assert bits(session) == whole[2]


def test_rewinding_midway(steady: Gpu):
    whole = whole_steps(steady, 6)
    with opened_galaxy(steady) as session:
        session.clock.set_rewind_memory(1 << 24)
        cut(session)
        midway(session, frame=5)
        session.post(GoTo(2))
        run_frame(session)
        assert session.frame == 2 and bits(session) == whole[2]
        session.post(Play(True))
        until(session, 6)
        assert bits(session) == whole[6]


def test_frames_between_snapshots_are_recomputed_in_parts(steady: Gpu):
    whole = whole_steps(steady, 40)
    with opened_galaxy(steady) as session:
        state = session.stage.instances["galaxy"].model.state()
        session.clock.set_rewind_memory(3 * sum(tensor.block.capacity for tensor in state.values()))
        for _ in range(40):
            run_frame(session)
        cut(session)
        target = session.clock.rewind.first + 5
        assert target not in session.clock.rewind.snapshots
        session.post(GoTo(target))
        run_frame(session)
        assert session.frame < target
        images = 0
        while not session.clock.idle:
            run_frame(session)
            images += 1
            assert bits(session) == whole[session.frame]
        assert session.frame == target and images > 5


@pytest.mark.parametrize("command", [SetParameter("models.galaxy", "count", 300), SetSeed(3)])
def test_models_rebuilt_midway(steady: Gpu, command):
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        session.post(command)
        run_frame(session)
        assert session.messages == {}
        until(session, session.frame + 2)
        after = session.frame, bits(session)
        steady.wait_idle()
    with opened_galaxy(steady) as session:
        for _ in range(1):
            run_frame(session)
        session.post(command)
        while session.frame < after[0]:
            run_frame(session)
        assert bits(session) == after[1]


def test_a_frame_that_fails_midway_restarts_the_step(steady: Gpu):
    whole = whole_steps(steady, 2)
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        with pytest.raises(ZeroDivisionError), steady.frames.frame():
            session.apply()
            session.advance()
            raise ZeroDivisionError
        assert bits(session) == whole[1]
        until(session, 2)
        assert bits(session) == whole[2]


def test_a_step_that_cannot_be_recorded_changes_nothing(opened, steady: Gpu, monkeypatch):
    session = opened(LINKED)
    cut(session)
    until(session, 2)
    before = values(session, "late.position")
    steady.wait_idle()
    live = len(steady.tracker.live)
    monkeypatch.setattr(Rising, "fails", OutOfMemory("none left"))
    with pytest.raises(OutOfMemory):
        for _ in range(5):
            run_frame(session)
    assert session.frame == 2 and session.stage.in_progress is None
    assert np.array_equal(values(session, "late.position"), before)
    monkeypatch.setattr(Rising, "fails", None)
    until(session, 3)
    assert values(session, "late.position")[0, 1] == pytest.approx(-2.0 * 3 * STEP)
    steady.wait_idle()
    assert len(steady.tracker.live) == live


def test_diagnostics_are_taken_between_steps_in_parts(steady: Gpu):
    with opened_galaxy(steady) as session:
        for _ in range(2):
            run_frame(session)
        session.measure()
        steady.wait_idle()
        session.apply()
        expected = dict(session.diagnostics)
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        session.measure()
        images = 0
        while not session.diagnostics:
            run_frame(session)
            steady.poll()
            images += 1
            assert images < 200
        assert images > 15, "the rest of the step, and the energy of ten workgroups"
        assert dict(session.diagnostics) == expected
        until(session, session.frame + 1)


def test_measuring_does_not_keep_a_paused_window_awake(steady: Gpu):
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        session.post(Play(False))
        run_frame(session)
        session.measure()
        run_frame(session)
        assert session.clock.idle


def test_closing_midway(steady: Gpu):
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)


def test_outputs_can_be_read_and_written_midway(steady: Gpu):
    whole = whole_steps(steady, 2)
    with opened_galaxy(steady) as session:
        cut(session)
        midway(session)
        position = session.stage.instances["galaxy"].outputs["position"]
        with position.clone() as snapshot_bytes, position * 2.0 as doubled:
            before = snapshot_bytes.numpy()
            until(session, 2)
            assert np.array_equal(doubled.numpy(), before * 2.0)
            assert bits(session) == whole[2]
            until(session, 4)
            assert np.array_equal(snapshot_bytes.numpy(), before), "what others still hold is not written again"
            assert not np.array_equal(snapshot_bytes.numpy(), position.numpy())


# split dispatches ---------------------------------------------------------------------------------------------------

WHERE = """
struct Params { count: u32, first_workgroup: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> at: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
    let i = (group.x + params.first_workgroup) * 64u + lane;
    if i < params.count { at[i] += i + 1u; }
}

@compute @workgroup_size(64)
fn careless(@builtin(global_invocation_id) id: vec3u) {
    if id.x < params.count { at[id.x] += 1u; }
}
"""


def test_a_kernel_splits_if_it_uses_the_field(steady: Gpu):
    assert Kernel(WHERE, "main", "where").interface.splits
    assert not Kernel(WHERE, "careless", "where").interface.splits, "the struct has it, the entry point does not use it"
    with Tensor.zeros(1000, np.uint32) as at:
        Kernel(WHERE, "main", "where")(1000, at=at, count=1000)
        assert np.array_equal(at.numpy(), np.arange(1, 1001)), "it need not be given"


def test_a_size_that_the_gpu_reads_is_not_split(steady: Gpu):
    granted = []

    def grant(group, kernel, left, splits):
        granted.append((left, splits))
        return left

    with (
        Tensor.from_numpy(np.array([3, 1, 1], np.uint32)) as size,
        Tensor.zeros(1000, np.uint32) as at,
        Plan("sized") as plan,
    ):
        plan.dispatch(Kernel(WHERE, "main", "where"), 640, indirect=size, at=at, count=1000)
        plan.dispatch(Kernel(WHERE, "main", "where"), 0, at=at, count=1000)
        spares = Spares(steady)
        deferred = Deferred(steady, spares)
        with deferred.recording():
            plan.replay()
        assert not at.numpy().any()
        assert deferred.encode(grant)
        deferred.commit()
        assert granted == [(10, False)], "a dispatch of nothing is not asked for"
        assert np.count_nonzero(at.numpy()) == 3 * 64
        spares.clear()


# the budget ---------------------------------------------------------------------------------------------------------


def fake_gpu(timed: bool = True) -> SimpleNamespace:
    return SimpleNamespace(
        timer=SimpleNamespace(available=timed, enabled=timed, submissions=[]),
        adapter=SimpleNamespace(kind="discrete" if timed else "software"),
        tracker=SimpleNamespace(frame=0),
        frames=SimpleNamespace(took=None),
        wait_idle=lambda: None,
    )


class Machine:
    """A GPU on which each workgroup of a kernel takes a known time, reported a frame later.

    `width` of them run in parallel: fewer do not take less time.
    """

    def __init__(self, budget: float, width: int = 1, **ms: float):
        self.gpu = fake_gpu()
        self.pacer = Pacer(self.gpu)  # type: ignore[arg-type]
        self.pacer.budget = budget
        self.pacer._long = True
        self.width, self.ms = width, ms
        self.drawing = 0.0

    def frame(self, timings: list[tuple[str, int, bool]]) -> list[int]:
        """The workgroups of each dispatch, in order, that are granted in the next frame."""
        self.gpu.tracker.frame += 1
        self.pacer.begin(True)
        granted = []
        for kernel, count, splits in timings:
            granted.append(self.pacer.grant("model.step", kernel, count, splits))  # type: ignore[arg-type]
            if granted[-1] < count:
                break
        self.pacer.end()
        span = SimpleNamespace(group="model.step", ms=self.spent([kernel for kernel, *_ in timings], granted))
        frame, drawn = self.gpu.tracker.frame, SimpleNamespace(group="layers", ms=self.drawing)
        self.gpu.timer.submissions.append(SimpleNamespace(frame=frame, arrived=float(frame), spans=[span, drawn]))
        return granted

    def spent(self, kernels: list[str], counts: list[int]) -> float:
        pairs = zip(kernels, counts, strict=False)
        return sum(self.ms[kernel] * max(count, self.width) for kernel, count in pairs if count)

    def frames(self, count: int, of: int = 100_000) -> list[int]:
        """The number of workgroups of one kernel that are granted in each frame."""
        return [self.frame([("kick", of, True)])[0] for _ in range(count)]


@pytest.mark.parametrize("ms", [0.01, 0.5, 3.0, 15.0])
def test_the_budget_is_used_once_a_kernel_is_known(ms):
    machine = Machine(20.0, kick=ms)
    granted = machine.frames(60)
    assert granted[0] == PROBE
    settled = np.array(granted[10:]) * ms
    assert np.median(settled) == pytest.approx(max(20.0 // ms, 1) * ms, rel=0.02)
    assert settled.max() <= max(20.0, ms) * 1.05
    assert (np.array(granted) * ms).max() <= max(40.0, 4 * ms)


def test_a_part_may_take_as_long_as_drawing_does():
    machine = Machine(20.0, kick=0.5)
    machine.frames(20)
    machine.drawing = 300.0
    assert np.array(machine.frames(20)[10:]) * 0.5 == pytest.approx(300.0, rel=0.02)
    machine.drawing = 5.0
    assert np.array(machine.frames(20)[10:]) * 0.5 == pytest.approx(20.0, rel=0.02), "never less than the budget"


def test_a_single_slow_frame_makes_no_part_longer():
    machine = Machine(20.0, kick=0.5)
    machine.frames(20)
    machine.drawing = 5000.0
    machine.frames(1)
    machine.drawing = 0.0
    assert max(machine.frames(10)) * 0.5 <= 20.0 * 1.05


@pytest.mark.parametrize("paused", [0.0, 60.0])
def test_without_timestamps_frames_after_a_part_give_the_drawing_time(monkeypatch: pytest.MonkeyPatch, paused: float):
    """A pause in between does not count: no part ran in the frames before its end."""
    now, work = [0.0], [0.0]

    def wait_idle() -> None:
        now[0], work[0] = now[0] + work[0], 0.0

    monkeypatch.setattr("vertigrad.session.pacing.time", SimpleNamespace(perf_counter=lambda: now[0]))
    gpu = fake_gpu(timed=False)
    gpu.wait_idle = wait_idle
    pacer = Pacer(gpu)  # type: ignore[arg-type]
    pacer.budget, pacer._long, granted = 20.0, True, []
    for number in range(40):
        gpu.tracker.frame += 1
        pacer.begin(True)
        if number < 20 or number % 2 or not paused:
            granted.append(pacer.grant("model.step", "kick", 100_000, True))  # type: ignore[arg-type]
            work[0] += granted[-1] * 0.5e-3
        pacer.end()
        work[0] += 0.3
        now[0] += 0.0 if pacer._now.parts else paused
    assert np.array(granted[-10:]) * 0.5 == pytest.approx(300.0, rel=0.02)


def test_a_slower_machine_gets_a_smaller_budget():
    machine = Machine(20.0, kick=0.5)
    machine.frames(8)
    machine.ms["kick"] = 2.0
    assert machine.frames(6)[-1] == pytest.approx(10, abs=1)
    machine.ms["kick"] = 0.2
    assert np.median(machine.frames(12)[6:]) == pytest.approx(100, abs=5)


@pytest.mark.parametrize("budget", [8.0, 20.0, 60.0])
def test_a_wide_gpu_gets_more_than_one_workgroup_at_a_time(budget):
    """As on an H100: one workgroup takes 8 ms, and five hundred take 8 ms too."""
    machine = Machine(budget, width=500, kick=8.0 / 500)
    granted = machine.frames(60)
    expected = max(budget / (8.0 / 500), 500)
    assert np.median(granted[30:]) >= 0.8 * expected, granted
    assert machine.spent(["kick"], [int(np.median(granted[30:]))]) <= max(1.6 * 8.0, 1.2 * budget)


def test_a_wide_gpu_recovers_after_a_disturbance():
    machine = Machine(20.0, width=500, kick=8.0 / 500)
    machine.frames(30)
    machine.ms["kick"] *= 20.0
    machine.frames(2)
    machine.ms["kick"] /= 20.0
    assert np.median(machine.frames(80)[50:]) >= 600


def test_a_workgroup_longer_than_the_budget_runs_alone():
    machine = Machine(20.0, kick=70.0)
    granted = machine.frames(60)
    assert set(granted[12:]) == {1}
    assert sum(granted[1:]) < 60 + 10, "others were hardly tried"


def test_the_last_workgroups_of_a_dispatch_do_not_change_the_estimate():
    machine = Machine(8.0, width=500, kick=8.0 / 500)
    machine.frames(40)
    settled = machine.frames(1)[0]
    for _ in range(5):
        machine.frames(1, of=3)
    assert machine.frames(1)[0] >= 0.8 * settled


def test_a_dispatch_that_cannot_be_split_runs_whole_and_alone():
    machine = Machine(10.0, long=30.0, short=1.0)
    assert machine.frame([("long", 1, False), ("short", 1, False)]) == [1, 0], "the first is not known: it goes alone"
    machine.frame([("short", 1, False)])
    assert machine.frame([("short", 1, False), ("long", 1, False)]) == [1, 0]
    assert machine.frame([("long", 1, False)]) == [1]
    machine.frame([("short", 2, False)])
    assert machine.frame([("short", 3, False), ("short", 6, False), ("short", 2, False)]) == [3, 6, 0]


def test_without_a_budget_everything_is_granted():
    machine = Machine(0.0, kick=1.0)
    assert machine.frame([("kick", 1000, True), ("kick", 5, False)]) == [1000, 5]


def test_a_step_that_became_short_is_no_longer_split():
    machine = Machine(20.0, kick=0.5)
    machine.frames(8)
    machine.pacer.begin(False)
    work = [("model.step", "kick", 100)]
    machine.pacer.weigh(work)  # type: ignore[arg-type]
    assert machine.pacer.step_ms == pytest.approx(50.0) and machine.pacer.slices
    machine.pacer.weigh([("model.step", "kick", 20)])  # type: ignore[arg-type]
    assert machine.pacer.step_ms == pytest.approx(10.0) and not machine.pacer.slices


def test_a_step_with_nothing_to_compute_is_no_measurement():
    machine = Machine(20.0, kick=0.5)
    machine.frames(8)
    machine.pacer.begin(False)
    machine.pacer.weigh([("model.step", "kick", 100)])  # type: ignore[list-item]
    machine.pacer.weigh([])
    assert machine.pacer.step_ms == pytest.approx(50.0) and machine.pacer.slices


def test_whole_steps_that_take_too_long_are_found_by_the_timer():
    """One of which there are no times had nothing to compute."""
    gpu = fake_gpu()
    pacer = Pacer(gpu)  # type: ignore[arg-type]
    pacer.budget = 10.0
    for ms, expected in ((4.0, False), (15.0, True), (None, True)):
        gpu.tracker.frame += 1
        pacer.begin(False)
        pacer.stepped()
        pacer.end()
        spans = [SimpleNamespace(group="model.step", ms=ms)] if ms else []
        spans.append(SimpleNamespace(group="layers", ms=100.0))
        gpu.timer.submissions.append(
            SimpleNamespace(frame=gpu.tracker.frame, arrived=float(gpu.tracker.frame), spans=spans)
        )
        gpu.tracker.frame += 1
        pacer.begin(False)
        assert (pacer.step_ms, pacer.slices) == (ms or 15.0, expected)


def test_a_long_frame_is_a_reason_to_measure_its_step_but_no_measurement(monkeypatch: pytest.MonkeyPatch):
    """A frame of 300 ms seems to have taken 30 ms if the CPU was late to wait for the one before it."""
    gpu, now = fake_gpu(timed=False), 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    pacer = Pacer(gpu)  # type: ignore[arg-type]
    pacer.budget = 10.0
    gpu.tracker.frame = 1
    pacer.begin(False)
    pacer.stepped()
    gpu.tracker.frame, gpu.frames.took = 2, SimpleNamespace(frame=1, ms=30.0)
    pacer.begin(False)
    assert pacer.slices and pacer.step_ms is None
    pacer.weigh([("model.step", "kick", 100)])  # type: ignore[list-item]
    granted = pacer.grant("model.step", "kick", 100, True)  # type: ignore[arg-type]
    now += 0.003 * granted
    pacer.end()
    pacer.weigh([("model.step", "kick", 100)])  # type: ignore[list-item]
    assert pacer.step_ms == pytest.approx(300.0)


def test_times_that_arrive_together_are_processed_in_order():
    machine = Machine(20.0, kick=1.0)
    for kick in (1.0, 5.0, 2.0):
        machine.ms["kick"] = kick
        submissions, machine.gpu.timer.submissions = machine.gpu.timer.submissions, []
        machine.frame([("kick", 100, True)])
        machine.gpu.timer.submissions = submissions + machine.gpu.timer.submissions
    machine.pacer.begin(True)
    (cost,) = machine.pacer._costs.values()
    assert cost.measured_ms / cost.measured == pytest.approx(2.0)


def test_more_steps_per_frame_while_time_is_left(opened):
    session = opened()
    session.post(SetPacing("steps", 4))
    run_frame(session)
    assert session.frame == 4
    session.set_pacing({"budget": 10.0})
    session.clock.pacer.step_ms = 4.0
    run_frame(session)
    assert session.frame == 6


def test_the_time_scale_is_set_by_command_and_invalid_values_are_rejected(opened, steady: Gpu):
    session = opened()
    for name, value in (("frames_in_flight", 3), ("fps_limit", 30.0), ("budget", 12.0), ("vsync", False)):
        session.post(SetPacing(name, value))
    run_frame(session)
    assert session.messages == {}
    assert steady.frames.in_flight == 3 and session.clock.pacer.budget == 12.0
    session.post(SetPacing("frames_in_flight", 4))
    session.post(SetPacing("budget", -1.0))
    session.post(SetPacing("speed", 1.0))
    run_frame(session)
    assert session.messages.keys() == {"pacing.frames_in_flight", "pacing.budget", "pacing.speed"}
    assert steady.frames.in_flight == 3 and session.pacing.budget == 12.0


def test_a_long_step_is_split_automatically_and_frames_continue(steady: Gpu, monkeypatch: pytest.MonkeyPatch):
    """The adapter is measured first: the count is chosen so that a step takes five to twenty times the budget."""
    monkeypatch.setattr(steady.timer, "enabled", True)  # as it is in the window
    count, millisecond = 512, 0.0
    while millisecond < 60.0:
        count *= 2
        with opened_galaxy(steady, count=count) as session:
            run_frame(session)
            steady.wait_idle()
            began = time.perf_counter()
            run_frame(session)
            steady.wait_idle()
            millisecond = (time.perf_counter() - began) * 1e3
    with opened_galaxy(steady, count=count) as session:
        session.set_pacing({"budget": 12.0})
        for _ in range(12):
            run_frame(session)
        assert session.clock.pacer.slices, "it found out that a step takes too long"
        times, frames = [], session.frame
        for _ in range(40):
            began = time.perf_counter()
            run_frame(session)
            times.append((time.perf_counter() - began) * 1e3)
        assert np.median(times) < 4 * 12.0
        assert session.frame - frames < 20 and until(session, frames + 2) < 200
