"""Each replay gives the results of the recorded program, and a failed recording leaves nothing."""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.errors import LayoutError, OutOfMemory, StillInUse, UseAfterFree
from vertigrad.gpu import Gpu, Plan
from vertigrad.tensor import Tensor

from .kernels import STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")


def vector(*values: float, name: str = "x") -> Tensor:
    return Tensor.from_numpy(np.array(values, np.float32), name)


# every operation is executed at each replay ------------------------------------------------------------------------


def test_a_clone_has_the_values_at_its_position_in_each_replay() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            old = x.clone("old")
            x.add_(1.0)
            moved = x - old
        for count in (1, 2, 3):
            plan.replay()
            assert moved.numpy().tolist() == [1, 1]
            assert old.numpy().tolist() == [count, count + 1]
        old.close()


def test_a_clone_of_a_result_outlives_the_result() -> None:
    with vector(1, 2, 3) as x, Plan() as plan:
        with plan.recording():
            y = x * 2.0
            copy = y[1:].clone()
            z = copy + 0.0
            y.close()
            filler = x * 100.0  # reuses the memory of y
            end = filler + 1.0
            filler.close()
        for _ in range(2):
            plan.replay()
            assert z.numpy().tolist() == copy.numpy().tolist() == [4, 6]
            assert end.numpy().tolist() == [101, 201, 301]
        copy.close()


def test_writes_to_a_clone_and_to_its_original_are_independent() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            copy = x.T.clone()
            copy.mul_(10.0)
            x.add_(1.0)
        for count in (1, 2):
            plan.replay()
            assert copy.numpy().tolist() == [10 * count, 10 * (count + 1)]
            assert x.numpy().tolist() == [1 + count, 2 + count]
        copy.close()


@pytest.mark.parametrize("dtype", ["f32", "u8", "bool", "i32"])
def test_zeros_are_zeros_at_each_replay(dtype: str) -> None:
    with vector(1, 2, 3) as x, Plan() as plan:
        with plan.recording():
            total = Tensor.zeros(3, dtype)
            before = total.to("f32")
            total[1:] = x[1:].to(dtype)
        for _ in range(3):
            plan.replay()
            assert before.numpy().tolist() == [0, 0, 0]
            assert total.numpy().tolist() == np.array([0, 2, 3]).astype(total.dtype.numpy).tolist()
        total.close()


def test_an_accumulator_starts_from_zero() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            total = Tensor.zeros(2)
            for _ in range(3):
                total.add_(x)
        for _ in range(2):
            plan.replay()
            assert total.numpy().tolist() == [3, 6]
        total.close()


def test_the_histogram_of_a_summary_counts_each_replay_separately() -> None:
    from vertigrad.ops.summary import spread, summarize

    with vector(*range(64)) as x, Plan() as plan:
        with plan.recording():
            counts = spread(x, summarize(x))
        for _ in range(2):
            plan.replay()
            assert counts.numpy().sum() == 64
        counts.close()


def test_detach_is_a_view_in_a_recording_too() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            y = x * 1.0
            y.detach().add_(5.0)
        plan.replay()
        assert y.numpy().tolist() == [6, 7]


def test_constants_of_a_recording_are_not_written_in_it() -> None:
    with Plan("step") as plan:
        with pytest.raises(LayoutError, match=r"'constant', which was uploaded inside.*clone\(\)"), plan.recording():
            constant = vector(1, 2, name="constant")
            constant.add_(1.0)
        constant.close()
        with plan.recording():
            constant = vector(1, 2)
            own = constant.clone()
            own.add_(1.0)
        for _ in range(2):
            plan.replay()
            assert own.numpy().tolist() == [2, 3]
        assert constant.numpy().tolist() == [1, 2]
        constant.add_(1.0)
        constant.close()
        own.close()


# values that do not exist yet ---------------------------------------------------------------------------------------


def test_a_result_has_no_values_before_the_first_replay(gpu: Gpu) -> None:
    with vector(1, 2) as x, Plan("later") as plan:
        with plan.recording():
            y = x + 1.0
            zeros = Tensor.zeros(2, name="zeros")
        for tensor in (y, zeros, y[1:]):
            with pytest.raises(StillInUse, match=r"plan 'later', in whose recording it was made, was not replayed yet"):
                tensor.numpy()
        with pytest.raises(StillInUse, match="no values"):
            ops.multiply(y, 2.0)
        with pytest.raises(StillInUse, match="no values"):
            y.add_(1.0)
        with pytest.raises(StillInUse, match="no values"), y.resource():
            pass
        with y.clone("too early") as early:
            plan.replay()
            assert y.numpy().tolist() == [2, 3] and zeros.numpy().tolist() == [0, 0]
            with pytest.raises(StillInUse, match="no values"):
                early.numpy()
        zeros.close()


def test_overwritten_results_have_values() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            y = x + 1.0
        y.fill_(7.0)
        assert y.numpy().tolist() == [7, 7]


def test_a_plan_does_not_read_results_of_a_plan_that_was_not_replayed() -> None:
    with vector(1, 2) as x, Plan("first") as first, Plan("second") as second:
        with first.recording():
            y = x + 1.0
        with second.recording():
            z = y * 2.0
        with pytest.raises(StillInUse, match=r"plan 'second' reads .* plan 'first'"):
            second.replay()
        first.replay()
        second.replay()
        assert z.numpy().tolist() == [4, 6]


# recordings that fail -----------------------------------------------------------------------------------------------


def test_a_recording_that_fails_does_not_change_the_plan(gpu: Gpu) -> None:
    with vector(1, 2) as x, vector(5, name="other") as other, Plan("step") as plan:
        with plan.recording():
            y = x * 2.0
            kernel(STEP)(2, x=x, count=2, factor=1.0)
        live = len(gpu.tracker.live)
        with pytest.raises(RuntimeError, match=r"^the first error$"), plan.recording():
            z = y + 1.0
            w = (x.clone() * 3.0).sum()
            kernel(STEP)(1, x=other, count=1)
            x.add_(100.0)
            raise RuntimeError("the first error")
        assert len(plan) == 2 and gpu.recording is None
        assert other.owner.handles == 1
        with pytest.raises(StillInUse, match=r"has no values: the recording of plan 'step'.*failed"):
            z.numpy()
        del w
        z.close()
        gpu.tracker.collect()
        assert len(gpu.tracker.live) == live
        plan.replay(value=1.0)
        assert (y.numpy().tolist(), x.numpy().tolist(), other.item()) == ([2, 4], [2, 3], 5)
        with plan.recording():
            total = y.sum()
        plan.replay(value=1.0)
        assert total.item() == 10
    gpu.tracker.leaks.clear()


def test_a_recording_that_runs_out_of_memory_at_the_end_does_not_change_the_plan(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    with vector(1, 2) as x, Plan("step") as plan:
        with plan.recording():
            y = x * 2.0

        def fail(block: object) -> None:
            raise OutOfMemory("no room")

        with monkeypatch.context() as patch, pytest.raises(OutOfMemory, match="no room"):
            patch.setattr(gpu.pool, "commit", fail)
            with plan.recording():
                z = y * 3.0
        assert len(plan) == 1
        with pytest.raises(StillInUse, match="failed"):
            z.numpy()
        with plan.recording():
            z = y * 4.0
        plan.replay()
        assert z.numpy().tolist() == [8, 16]


def test_the_first_error_is_reported_although_the_results_would_not_fit_either(
    gpu: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(block: object) -> None:
        raise OutOfMemory("no room")

    with vector(1, 2) as x, Plan("step") as plan:
        with monkeypatch.context() as patch, pytest.raises(RuntimeError, match=r"^the first error$"):
            patch.setattr(gpu.pool, "commit", fail)
            with plan.recording():
                y = x * 2.0
                raise RuntimeError("the first error")
        assert len(plan) == 0 and gpu.recording is None
        with pytest.raises(StillInUse, match="failed"):
            y.numpy()


def test_only_the_failed_part_of_a_recording_is_reverted() -> None:
    with vector(1, 2) as x, Plan() as plan:
        with plan.recording():
            y = x + 1.0
            with pytest.raises(RuntimeError), plan.recording():
                y.mul_(100.0)
                raise RuntimeError
            z = y * 2.0
        plan.replay()
        assert z.numpy().tolist() == [4, 6]


def test_a_plan_that_is_closed_inside_of_its_recording_reports_it(gpu: Gpu) -> None:
    with vector(1, 2) as x:
        plan = Plan("step")
        with pytest.raises(UseAfterFree, match="plan 'step' was closed"), plan.recording():
            ops.add(x, 1.0)
            plan.close()
        gpu.tracker.collect()
        assert x.owner.handles == 1
