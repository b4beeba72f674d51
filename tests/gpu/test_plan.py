"""`Plan`: dispatches recorded once and replayed with other values, tensors and neighbors."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from vertigrad.errors import LayoutError, LimitError, ShaderError, StillInUse, UseAfterFree
from vertigrad.gpu import Gpu, Kernel, Plan, plan_encodings
from vertigrad.gpu import device as device_module
from vertigrad.memory import State
from vertigrad.tensor import Publication, Tensor

from .kernels import AFFINE, NO_UNIFORM, PUT, STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")


def vector(*values: float, name: str = "x") -> Tensor:
    return Tensor.from_numpy(np.array(values, np.float32), name)


def step(x: Tensor, **fields: float) -> Plan:
    plan = Plan("step")
    plan.dispatch(kernel(STEP), x.size, x=x, count=x.size, **fields)
    return plan


# replaying ------------------------------------------------------------------------------------------------------


def test_every_replay_of_a_submission_sees_its_own_values(gpu: Gpu) -> None:
    with vector(0, 1) as x, step(x) as plan:
        submitted = gpu.tracker.submitted
        gpu.submit()
        expected = np.array([0, 1], np.float32)
        with gpu.frames.frame():
            for i in range(300):
                factor, value = (0.5, float(i)) if i % 3 else (1.0, -1.0)
                plan.replay(factor=factor, value=value)
                expected = expected * np.float32(factor) + np.float32(value)
        assert gpu.tracker.submitted == submitted + 1
        assert np.array_equal(x.numpy(), expected)


def test_open_fields_go_to_every_dispatch_that_has_them() -> None:
    with vector(1) as x, vector(1) as y, Plan() as plan:
        plan.dispatch(kernel(STEP), 1, x=x, count=1)
        plan.dispatch(kernel(STEP), 1, x=y, count=1, factor=100.0)
        plan.dispatch(kernel(AFFINE), 1, x=x, y=y, count=1, scale=1.0)
        plan.replay(factor=2.0, value=3.0, shift=4.0)
        assert x.numpy().tolist() == [5]
        assert y.numpy().tolist() == [9]
        assert len(plan) == 3


def test_an_open_field_of_half_a_word_leaves_its_neighbor_alone(gpu: Gpu) -> None:
    """A field is packed once and copied to all dispatches, by words."""
    if "shader-f16" not in gpu.features:
        pytest.skip("no f16 here")
    source = """
    enable f16;
    struct Params { low: f16, high: f16, wide: vec3h, last: f16 }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(1) fn main() {
        x[0] = f32(params.low); x[1] = f32(params.high); x[2] = f32(params.wide.z); x[3] = f32(params.last);
    }
    """
    halves = Kernel(source, "main", "halves")
    with Tensor.zeros(4) as x, Tensor.zeros(4) as y, Plan() as plan:
        plan.dispatch(halves, 1, x=x, low=1.0, last=2.0)
        plan.dispatch(halves, 1, x=y, low=3.0, last=4.0)
        plan.replay(high=5.0, wide=(6.0, 7.0, 8.0))
        assert x.numpy().tolist() == [1, 5, 8, 2]
        assert y.numpy().tolist() == [3, 5, 8, 4]


@pytest.mark.parametrize("argument", [{}, {"value": 1.0}, {"value": 1.0, "factor": 1.0, "dt": 1.0}])
def test_fields_missing_or_unknown_are_refused_and_nothing_is_recorded(gpu: Gpu, argument: dict) -> None:
    with vector(1) as x, step(x) as plan:
        gpu.submit()
        with pytest.raises(ShaderError, match=r"plan 'step' needs values for \['factor', 'value'\], got"):
            plan.replay(**argument)
        assert not gpu.recorder.pending


def test_an_invalid_value_is_rejected_and_the_plan_stays_usable() -> None:
    with vector(1) as x, step(x) as plan:
        with pytest.raises(ShaderError, match=r"Params.value: 'much' does not fit"):
            plan.replay(factor=5.0, value="much")
        plan.replay(factor=2.0, value=1.0)
        assert x.numpy().tolist() == [3]


def test_order_within_and_between_plans_and_calls() -> None:
    """x = factor x + value does not commute, so a wrong order changes the result."""
    with vector(1) as x, step(x, factor=2.0) as double, step(x, factor=-1.0) as flip:
        double.replay(value=1.0)  # 3
        flip.replay(value=0.0)  # -3
        kernel(STEP)(1, x=x, count=1, factor=10.0, value=5.0)  # -25
        double.replay(value=0.0)  # -50
        x.add_(1.0)  # -49
        flip.replay(value=1.0)  # 50
        assert x.numpy().tolist() == [50]


def test_a_plan_without_uniforms() -> None:
    with vector(0) as x, Plan() as plan:
        plan.dispatch(kernel(NO_UNIFORM), 1, x=x)
        plan.dispatch(kernel(NO_UNIFORM), 1, x=x)
        for _ in range(5):
            plan.replay()
        assert x.numpy().tolist() == [10]


def test_dispatches_with_and_without_uniforms_mixed() -> None:
    with vector(1) as x, Plan() as plan:
        plan.dispatch(kernel(NO_UNIFORM), 1, x=x)
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=2.0)
        plan.dispatch(kernel(NO_UNIFORM), 1, x=x)
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=3.0)
        plan.replay(value=0.5)
        assert x.numpy().tolist() == [((1 + 1) * 2 + 0.5 + 1) * 3 + 0.5]


def test_an_empty_plan_does_nothing() -> None:
    with Plan() as plan:
        plan.replay()
        assert len(plan) == 0


def test_a_dispatch_added_later_is_replayed_too() -> None:
    with vector(1) as x, Plan() as plan:
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=2.0, value=0.0)
        plan.replay()
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=1.0)
        plan.replay(value=5.0)
        assert x.numpy().tolist() == [9]


def test_uniforms_of_many_replays_overflow_into_another_submission(gpu: Gpu) -> None:
    source = """
    struct Params { i: u32, values: array<vec4u, 4095> }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn main() { x[params.i] += params.values[4094].w; }
    """
    with Tensor.zeros(150, "u32") as x, Plan("big") as plan:
        values = np.zeros((4095, 4), np.uint32)
        plan.dispatch(Kernel(source, "main", "big"), 1, x=x)
        submitted = gpu.tracker.submitted
        with gpu.frames.frame():
            for i in range(150):
                values[-1, -1] = i + 1
                plan.replay(i=i, values=values)
        assert gpu.tracker.submitted - submitted == 4  # zeros, and 64 + 64 + 22 replays
        assert x.numpy().tolist() == [i + 1 for i in range(150)]


def test_a_plan_of_more_uniforms_than_fit_is_refused() -> None:
    source = """
    struct Params { values: array<vec4u, 4096> }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn main() { x[0] += params.values[0].x; }
    """
    with Tensor.zeros(1, "u32") as x, Plan() as plan:
        big = Kernel(source, "main", "big")
        for _ in range(65):
            plan.dispatch(big, 1, x=x)
        with pytest.raises(LimitError, match="bytes of uniforms in one plan; at most"):
            plan.replay(values=np.zeros((4096, 4), np.uint32))


def test_replays_outside_of_frames_are_submitted_now_and_then(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FIRST_DISPATCHES", "EAGER_DISPATCHES"):
        monkeypatch.setattr(device_module, name, 10)
    with vector(0) as x, Plan() as plan:
        plan.dispatch(kernel(NO_UNIFORM), 1, x=x)
        gpu.sync()
        submitted = gpu.tracker.submitted
        for _ in range(35):
            plan.replay()
        assert gpu.tracker.submitted == submitted + 3
        with gpu.frames.frame():
            for _ in range(35):
                plan.replay()
        assert gpu.tracker.submitted == submitted + 5  # the rest of before, and the frame in one
        assert x.numpy().tolist() == [70]


# changed blocks -------------------------------------------------------------------------------------------------


def test_a_shared_tensor_gets_a_new_block_at_replay_and_is_followed() -> None:
    with vector(1) as x, step(x, factor=2.0, value=0.0) as plan:
        plan.replay()
        clones = []
        for i in range(1, 8):  # more moves than cached sets of bind groups
            clones.append(x.clone())
            plan.replay()
            assert x.block is not clones[-1].block
            assert x.numpy().tolist() == [2 ** (i + 1)]
        assert [clone.numpy().tolist() for clone in clones] == [[2**i] for i in range(1, 8)]
        for clone in clones:
            clone.close()


def test_a_tensor_moved_by_other_code_is_followed() -> None:
    with vector(1, 2) as x, Tensor.empty(2) as y, Plan() as plan:
        plan.dispatch(kernel(AFFINE), 2, x=x, y=y, count=2, scale=1.0, shift=0.0)
        plan.replay()
        with x.clone() as clone:
            x.add_(10.0)
            plan.replay()
            assert y.numpy().tolist() == [11, 12]
            assert clone.numpy().tolist() == [1, 2]


def test_published_blocks_are_not_written(gpu: Gpu) -> None:
    drawn = Publication()
    with vector(1) as x, step(x, factor=2.0, value=0.0) as plan:
        for i in range(6):
            drawn.publish([x])
            shown = x.block
            plan.replay()
            assert x.block is not shown
            assert x.numpy().tolist() == [2 ** (i + 1)]
            assert gpu.recorder.read is not None
        drawn.withdraw()
        block = x.block
        plan.replay()
        assert x.block is block


def test_values_read_by_an_earlier_dispatch_are_copied_before_a_later_one_overwrites_them() -> None:
    with vector(7, 8) as x, Tensor.zeros(2) as y, Plan() as plan:
        plan.dispatch(kernel(AFFINE), 2, x=x, y=y, count=2, scale=1.0, shift=0.0)
        plan.dispatch(kernel(PUT), 2, overwrites=("x",), x=x, count=2, value=1.0)
        with x.clone() as clone:
            plan.replay()
            assert y.numpy().tolist() == [7, 8]
            assert x.numpy().tolist() == [1, 1]
            assert clone.numpy().tolist() == [7, 8]


def test_tensors_overwritten_before_they_are_read_are_not_copied(gpu: Gpu) -> None:
    with vector(7, 8) as x, Tensor.zeros(2) as y, Plan() as plan:
        plan.dispatch(kernel(PUT), 2, overwrites=("x",), x=x, count=2)
        plan.dispatch(kernel(AFFINE), 2, x=x, y=y, count=2, scale=1.0, shift=0.0)
        with x.clone() as clone:
            before = gpu.meter.read()["geometry"]["device_to_device"]
            plan.replay(value=3.0)
            assert gpu.meter.read()["geometry"]["device_to_device"] == before
            assert y.numpy().tolist() == [3, 3]
            assert clone.numpy().tolist() == [7, 8]


def test_two_clones_written_by_one_plan_get_separate_blocks() -> None:
    with vector(1) as x, x.clone() as y, Plan() as plan:
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=2.0, value=0.0)
        plan.dispatch(kernel(STEP), 1, x=y, count=1, factor=3.0, value=0.0)
        plan.replay()
        plan.replay()
        assert (x.item(), y.item()) == (4, 9)
        assert x.block is not y.block


def test_borrowed_tensors_are_uploaded_by_the_first_replay() -> None:
    source = np.array([1, 2], np.float32)
    with Tensor.from_blob(source) as x, Tensor.empty(2) as y, Plan() as plan:
        plan.dispatch(kernel(AFFINE), 2, x=x, y=y, count=2, scale=10.0, shift=0.0)
        assert x.block.buffer is None
        source[0] = 5
        plan.replay()
        assert y.numpy().tolist() == [50, 20]


def test_writing_a_borrowed_tensor_does_not_change_its_source() -> None:
    source = np.array([1, 2], np.float32)
    with Tensor.from_blob(source) as x, step(x, factor=2.0, value=0.0) as plan:
        plan.replay()
        plan.replay()
        assert x.numpy().tolist() == [4, 8]
        assert source.tolist() == [1, 2]
        assert x.block.borrow is None


def test_two_plans_may_use_one_block_in_one_submission(gpu: Gpu) -> None:
    with vector(1) as x, step(x, factor=2.0, value=0.0) as a, step(x, factor=1.0, value=1.0) as b:
        gpu.submit()
        with gpu.frames.frame():
            a.replay()
            b.replay()
            a.replay()
            assert x.block.pins == 1
        assert x.block.last_serial == gpu.tracker.submitted
        assert x.item() == 6


def test_reading_what_the_same_dispatch_writes_is_refused_when_recorded() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with pytest.raises(LayoutError, match="read from memory that the same dispatch writes"):
            plan.dispatch(kernel(AFFINE), 1, x=x, y=x, count=1, scale=1.0, shift=0.0)
        assert len(plan) == 0


# blocks and bind groups -----------------------------------------------------------------------------------------


def test_bind_groups_are_created_once_while_blocks_alternate(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    """A published output alternates between a few blocks: after each was used once, no more bind groups are created."""
    with vector(1) as x, step(x, factor=1.0, value=1.0) as plan:
        drawn = Publication()
        observed = []
        create = gpu.device.create_bind_group
        created = []
        monkeypatch.setattr(
            gpu.device, "create_bind_group", lambda **w: created.append(w) or create(**w), raising=False
        )
        for i in range(30):
            with gpu.frames.frame():
                plan.replay()
                drawn.publish([x])
                gpu.recorder.use([x.block])
            if i == 10:
                created.clear()
            observed.append(x.block.id)
        assert x.item() == 31
        drawn.withdraw()
        assert len(set(observed)) <= plan_encodings.CACHED_LISTS
        assert not created


def test_a_plan_keeps_its_tensors(gpu: Gpu) -> None:
    x = vector(1)
    block = x.block
    plan = step(x, factor=2.0, value=0.0)
    y = x.clone()
    x.close()
    plan.replay()  # moves away from the clone, although no tensor is open
    assert block.owners == 1
    plan.close()
    plan.close()
    assert y.numpy().tolist() == [1]
    y.close()
    gpu.wait_idle()
    assert block.state is State.FREE


def test_a_closed_plan_reports_it(gpu: Gpu) -> None:
    with vector(1) as x:
        plan = step(x, factor=2.0, value=0.0)
        plan.replay()
        plan.close()
        with pytest.raises(UseAfterFree, match="plan 'step' was closed"):
            plan.replay()
        with pytest.raises(UseAfterFree, match="plan 'step' was closed"):
            plan.dispatch(kernel(STEP), 1, x=x, count=1)
        assert x.owner.handles == 1
        assert x.item() == 2  # earlier recorded commands are executed


def test_a_plan_that_is_never_closed_is_finalized_and_reported(gpu: Gpu) -> None:
    x = vector(1, name="kept by a plan")
    block, leaks = x.block, gpu.tracker.leak_count
    plan = step(x, factor=2.0, value=0.0)
    x.close()
    assert block.owners == 1
    del plan
    gc.collect()
    gpu.wait_idle()
    assert block.owners == 0
    assert gpu.tracker.leak_count == leaks + 1
    leak = gpu.tracker.leaks.pop()
    assert (leak.name, leak.nbytes, leak.origin.file) == ("plan step", 4, __file__)


def test_an_unclosed_plan_with_results_that_share_memory_is_finalized_too(gpu: Gpu) -> None:
    with vector(1, 2) as x:
        live, leaks = gpu.tracker.live_bytes, gpu.tracker.leak_count
        plan = Plan("chain")
        with plan.recording():
            last = x + 1
            for _ in range(5):
                last = last * 1.0
        plan.replay()
        last.close()
        del plan, last
        gc.collect()
        gpu.wait_idle()
        assert gpu.tracker.live_bytes == live
        assert gpu.tracker.leak_count == leaks + 1
        assert gpu.tracker.leaks.pop().name == "plan chain"


def test_a_failed_replay_keeps_the_values_of_its_outputs(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    with vector(1, 2) as x, Plan() as plan, x.clone() as clone:
        plan.dispatch(kernel(PUT), 2, overwrites=("x",), x=x, count=2, value=0.0)
        block = x.block

        def fail(*_: object) -> None:
            raise RuntimeError("no bind group today")

        monkeypatch.setattr(Kernel, "bind_group", fail)
        with pytest.raises(RuntimeError, match="today"):
            plan.replay()
        assert x.block is clone.block is block
        monkeypatch.undo()
        assert x.numpy().tolist() == [1, 2]
        plan.replay()
        assert x.numpy().tolist() == [0, 0]
        assert clone.numpy().tolist() == [1, 2]


def test_a_block_reused_under_its_id_gets_new_bind_groups(gpu: Gpu) -> None:
    """The bind groups of a plan are cached by block ids; a reused id is the same buffer."""
    with vector(1) as x, step(x, factor=1.0, value=1.0) as plan:
        plan.replay()
        first = x.block
        with x.clone():
            plan.replay()
        gpu.wait_idle()
        assert first.state is State.FREE
        with vector(50) as other:
            assert other.block is first
            with x.clone():
                plan.replay()
            assert other.item() == 50
        assert x.item() == 4


def test_an_invalid_value_is_rejected_each_time() -> None:
    kernel = Kernel(SCALE_SOURCE, "main", "scale")
    with Tensor.full(4, 1.0, name="x") as x, Plan("scale") as plan:
        plan.dispatch(kernel, 4, data=x)
        plan.dispatch(kernel, 4, data=x)
        plan.replay(factor=2.0)
        for _ in range(2):
            with pytest.raises(ShaderError, match="factor"):
                plan.replay(factor=1e40)
        plan.replay(factor=2.0)
        assert x.numpy().tolist() == [16.0] * 4
        for factor in (3.0, 1.0, 3.0):
            plan.replay(factor=factor)
        assert x.numpy().tolist() == [16.0 * 81] * 4


SCALE_SOURCE = """
struct Params { factor: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> data: array<f32>;
@compute @workgroup_size(4)
fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] *= params.factor; }
"""


# recording ------------------------------------------------------------------------------------------------------


def test_kernels_that_are_called_while_a_plan_records_are_added_to_it(gpu: Gpu) -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording() as same:
            assert same is plan
            kernel(STEP)(2, x=x, count=2, factor=2.0, value=1.0)
            kernel(STEP)(2, x=x, count=2, factor=10.0)
        assert len(plan) == 2
        assert x.numpy().tolist() == [1, 2]
        plan.replay(value=5.0)
        assert x.numpy().tolist() == [35, 55]
        kernel(STEP)(2, x=x, count=2, factor=0.0, value=1.0)
        assert x.numpy().tolist() == [1, 1] and len(plan) == 2


def test_recordings_nest_and_end_when_an_error_is_raised(gpu: Gpu) -> None:
    with vector(1) as x, Plan("outer") as outer, Plan("inner") as inner:
        with outer.recording():
            with pytest.raises(RuntimeError), inner.recording():
                kernel(STEP)(1, x=x, count=1, factor=2.0, value=0.0)
                raise RuntimeError
            kernel(STEP)(1, x=x, count=1, factor=3.0, value=0.0)
        assert gpu.recording is None
        assert (len(outer), len(inner)) == (1, 0)
    with pytest.raises(UseAfterFree), outer.recording():
        pass


def test_values_cannot_be_read_while_a_plan_records(gpu: Gpu) -> None:
    with vector(1) as x, Plan() as plan:
        with plan.recording(), pytest.raises(StillInUse, match="after replay"):
            x.numpy()
        assert x.numpy().tolist() == [1]


def test_results_of_a_recording_reuse_memory_of_earlier_ones(gpu: Gpu) -> None:
    with vector(*range(20_000)) as x, Plan() as plan:
        with plan.recording():
            last = x + 1
            for _ in range(9):
                last = last * 1.0
            last_used = last + 1
            del last
            end = last_used * 2
        assert len(plan) == 12
        assert len(plan.results.scratch) == 4  # two alternate, and two are held here
        before = gpu.pool.held_bytes
        for _ in range(3):
            plan.replay()
            assert np.array_equal(end.numpy(), 2 * (np.arange(20_000) + 2))
            assert np.array_equal(last_used.numpy(), np.arange(20_000) + 2)
        assert gpu.pool.held_bytes == before
        last_used.close()
        end.close()


def test_an_array_in_a_recording_is_a_constant_that_is_not_overwritten() -> None:
    with vector(0, 0) as x, Plan() as plan:
        with plan.recording():
            first = x + np.array([1, 2], np.float32)
            second = first + np.array([10, 20], np.float32)
            first.close()
            third = second * 3
            second.close()
            fourth = third + np.array([0.5, 0.5], np.float32)
            third.close()
        for _ in range(3):
            plan.replay()
            assert fourth.numpy().tolist() == [33.5, 66.5]
        fourth.close()


def test_the_largest_results_get_memory_first(gpu: Gpu) -> None:
    with vector(*range(40_000)) as x, Plan() as plan:
        with plan.recording():
            small = x[:10_000] * 2.0
            large = x + small.sum()
            end = large.sum()
            small.close()
            large.close()
        with plan.recording():  # fits into memory that the first one released
            late = x * 0.5
            total = late.sum()
            late.close()
        sizes = sorted(owner.block.nbytes for owner in plan.results.scratch)
        assert sizes[-2:] == [12, 160_000]  # the smaller one is of partial sums
        for _ in range(2):
            plan.replay()
            assert float(end.numpy()) == pytest.approx(sum(range(40_000)) + 40_000 * 2.0 * sum(range(10_000)), rel=1e-5)
            assert float(total.numpy()) == pytest.approx(0.5 * sum(range(40_000)), rel=1e-5)
        end.close()
        total.close()


def test_a_result_that_is_read_before_it_is_written_shares_no_memory() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            last_used = Tensor.empty(2, temporary=True)
            kernel(STEP)(2, x=x, count=2, factor=1.0, value=0.0)
            first = x + last_used
            other = x * 2.0
            last_used.close()
            last = other + first
            other.close()
            first.close()
        held = [owner.block.nbytes for owner in plan.results.scratch]
        assert len(held) == 4
        last.close()
