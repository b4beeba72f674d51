"""`Plan.update`: a plan is replayed only if that could change anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from vertigrad.gpu import Gpu, Plan
from vertigrad.gpu.computed import repeats
from vertigrad.gpu.deferred import Deferred, Spares, grant_all
from vertigrad.gpu.dispatch import Dispatch
from vertigrad.gpu.native import DispatchList
from vertigrad.tensor import Publication, Tensor

from .kernels import AFFINE, PUT, STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")


def vector(*values: float, name: str = "x") -> Tensor:
    return Tensor.from_numpy(np.array(values, np.float32), name)


def affine(x: Tensor, y: Tensor) -> Plan:
    """y = 2 x + shift."""
    plan = Plan("affine")
    plan.dispatch(kernel(AFFINE), x.size, overwrites=("y",), x=x, y=y, count=x.size, scale=2.0)
    return plan


@pytest.fixture
def xy() -> Iterator[tuple[Tensor, Tensor, Plan]]:
    """A plan that was updated with a shift of 1: x is (1, 2), y is (3, 5)."""
    with vector(1, 2) as x, vector(0, 0, name="y") as y, affine(x, y) as plan:
        assert plan.update(shift=1.0)
        yield x, y, plan


def test_what_is_there_is_not_computed_again(gpu: Gpu, xy: tuple[Tensor, Tensor, Plan]) -> None:
    x, y, plan = xy
    gpu.submit()
    for _ in range(5):
        assert not plan.update(shift=1.0)
    assert not gpu.recorder.pending
    assert y.numpy().tolist() == [3, 5]
    assert x.numpy().tolist() == [1, 2]


CHANGES: dict[str, Callable[[Gpu, Tensor, Tensor], object]] = {
    "its input is written by a kernel": lambda gpu, x, y: x.fill_(4.0),
    "its input is uploaded": lambda gpu, x, y: x.__setitem__(..., np.array([5, 6], np.float32)),
    "a part of its input is written": lambda gpu, x, y: x.__setitem__(1, 7.0),
    "its result is written": lambda gpu, x, y: y.fill_(0.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_it_is_replayed_after_a_change(
    gpu: Gpu, xy: tuple[Tensor, Tensor, Plan], change: Callable[[Gpu, Tensor, Tensor], object]
) -> None:
    x, y, plan = xy
    change(gpu, x, y)
    assert plan.update(shift=1.0)
    assert not plan.update(shift=1.0)
    np.testing.assert_array_equal(y.numpy(), 2 * x.numpy() + 1)


def test_it_is_replayed_with_another_value(xy: tuple[Tensor, Tensor, Plan]) -> None:
    _, y, plan = xy
    assert plan.update(shift=2.0)
    assert y.numpy().tolist() == [4, 6]
    assert plan.update(shift=1.0)
    assert y.numpy().tolist() == [3, 5]


def test_it_is_replayed_after_a_replay_of_its_own_or_of_another_plan(xy: tuple[Tensor, Tensor, Plan]) -> None:
    x, y, plan = xy
    plan.replay(shift=9.0)
    assert plan.update(shift=1.0)
    with affine(x, y) as other:
        other.replay(shift=5.0)
        assert plan.update(shift=1.0)
    assert y.numpy().tolist() == [3, 5]


def test_it_is_replayed_after_another_dispatch_was_added(xy: tuple[Tensor, Tensor, Plan]) -> None:
    _, y, plan = xy
    plan.dispatch(kernel(PUT), 1, x=y, count=1, value=8.0)
    assert plan.update(shift=1.0)
    assert not plan.update(shift=1.0)
    assert y.numpy().tolist() == [8, 5]


def test_other_code_may_have_written_its_input(xy: tuple[Tensor, Tensor, Plan]) -> None:
    x, _, plan = xy
    with x.resource(writable=True):
        assert plan.update(shift=1.0)
        assert plan.update(shift=1.0)
    assert plan.update(shift=1.0)
    assert not plan.update(shift=1.0)


def test_memory_that_a_framework_may_write_at_any_time_is_always_read(
    gpu: Gpu, xy: tuple[Tensor, Tensor, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A framework has a view of a clone, which holds the block as `Frameworks.access` does."""
    x, _, plan = xy
    monkeypatch.setattr(gpu.frameworks, "may_write", lambda block: block is x.block)
    with x.clone() as viewed, viewed.owner.stay():
        for _ in range(2):
            assert plan.update(shift=1.0)
    monkeypatch.undo()
    assert plan.update(shift=1.0)
    assert not plan.update(shift=1.0)


def test_clones_and_published_outputs_change_nothing(xy: tuple[Tensor, Tensor, Plan]) -> None:
    x, y, plan = xy
    published = Publication()
    published.publish([y])
    with x.clone() as clone:
        assert not plan.update(shift=1.0)
        clone.fill_(0.0)  # moves the clone, not x
        assert not plan.update(shift=1.0)
    published.withdraw()
    assert not plan.update(shift=1.0)


def test_a_dropped_frame_computed_nothing(gpu: Gpu, xy: tuple[Tensor, Tensor, Plan]) -> None:
    x, y, plan = xy
    gpu.submit()
    assert plan.update(shift=3.0)
    gpu.abandon()
    assert plan.update(shift=3.0)
    assert y.numpy().tolist() == [5, 7]
    x.fill_(0.0)
    gpu.abandon()
    plan.update(shift=3.0)
    assert y.numpy().tolist() == [5, 7]


def test_an_interrupted_replay_may_have_written(
    xy: tuple[Tensor, Tensor, Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, y, plan = xy
    encode = DispatchList.encode

    def interrupted(self: DispatchList, *arguments: Any) -> None:
        encode(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(DispatchList, "encode", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plan.update(shift=9.0)
    monkeypatch.undo()
    assert plan.update(shift=1.0)
    assert y.numpy().tolist() == [3, 5]


def test_a_plan_that_reads_what_it_writes_is_always_replayed() -> None:
    with vector(1) as x, Plan() as plan:
        plan.dispatch(kernel(STEP), 1, x=x, count=1)
        for _ in range(3):
            assert plan.update(factor=2.0, value=0.0)
        assert x.numpy().tolist() == [8]


def test_the_second_of_a_chain_finds_that_the_first_did_not_run(xy: tuple[Tensor, Tensor, Plan]) -> None:
    x, y, plan = xy
    with vector(0, 0, name="z") as z, affine(y, z) as second:
        assert second.update(shift=0.0)
        assert not plan.update(shift=1.0)
        assert not second.update(shift=0.0)
        x.fill_(1.0)
        assert plan.update(shift=1.0)
        assert second.update(shift=0.0)
        assert z.numpy().tolist() == [6, 6]


@pytest.mark.parametrize("ended", [True, False])
def test_work_in_progress_counts_once_it_has_ended(gpu: Gpu, xy: tuple[Tensor, Tensor, Plan], ended: bool) -> None:
    """Until then the tensors are as before, for all others; they stay so if it is cancelled."""
    _, y, plan = xy
    gpu.submit()
    spares = Spares(gpu)
    with vector(0, 0, name="z") as z, affine(y, z) as other:
        deferred = Deferred(gpu, spares)
        with deferred.recording():
            assert plan.update(shift=3.0)
        assert other.update(shift=0.0)
        assert z.numpy().tolist() == [6, 10]
        if ended:
            assert deferred.encode(grant_all)
            deferred.commit()
        else:
            deferred.cancel()
        assert other.update(shift=0.0) is ended
        assert plan.update(shift=3.0) is not ended
        assert y.numpy().tolist() == [5, 7]
        gpu.sync()
    spares.clear()


def test_which_dispatches_compute_the_same_twice() -> None:
    with ExitStack() as stack:
        x, y = (stack.enter_context(vector(1, 2, 3, 4, name=name)) for name in "xy")
        halves = [stack.enter_context(y[:2]), stack.enter_context(y[2:])]

        def write(source: Tensor, target: Tensor, overwrites: tuple[str, ...] = ("y",)) -> Dispatch:
            values = {"x": source, "y": target, "count": target.size, "scale": 2.0, "shift": 0.0}
            return Dispatch(kernel(AFFINE), target.size, overwrites, values)

        def accumulate(target: Tensor) -> Dispatch:
            return Dispatch(kernel(STEP), target.size, (), {"x": target, "count": 4, "factor": 2.0, "value": 0.0})

        assert repeats([write(x, y)])
        assert repeats([write(x, y), accumulate(y)])  # of what is written first
        assert repeats([write(x, half) for half in halves])
        assert not repeats([write(x, y, overwrites=())])  # it may read y
        assert not repeats([accumulate(y)])
        assert not repeats([write(x, halves[0]), accumulate(y)])  # the other half is that of the time before
        assert repeats([write(x, halves[0]), accumulate(y)], {y.owner})  # of which nothing is needed the next time
        assert not repeats([write(y, x), write(x, y)])
        assert not repeats([write(x, halves[0]), write(y, x)])
