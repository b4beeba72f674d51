"""One thread owns the GPU: calls from others raise and change nothing, and modes set in one do not affect another."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor, no_grad
from vertigrad.errors import OutOfMemory, ParameterError, WrongThread
from vertigrad.gpu import Gpu, Plan
from vertigrad.tensor import graph

from .kernels import STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")


def in_thread(call: Callable[[], Any]) -> Any:
    """The result of `call` in another thread; raises its error."""
    results: list[Any] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="helper")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def test_every_call_from_another_thread_names_the_rule_and_changes_nothing(gpu: Gpu) -> None:
    run = kernel(STEP)
    with Tensor.full(4, 2.0) as x, x.clone() as clone, Plan("plan") as plan:
        plan.dispatch(run, 4, x=x, count=4, factor=1.0, value=1.0)
        gpu.submit()
        x.add_(1.0)  # recorded here, submitted below
        held = {(b.id, b.owners, b.pins) for b in gpu.tracker.live}
        calls: list[Callable[[], Any]] = [
            vertigrad.gpu,
            gpu.submit,
            gpu.wait_idle,
            gpu.poll,
            gpu.sync,
            gpu.abandon,
            gpu.frames.begin,
            lambda: gpu.recorder.encoder,
            lambda: Tensor.zeros(3),
            lambda: Tensor.from_numpy(np.zeros(3, np.float32)),
            lambda: Tensor.from_blob(np.zeros(3, np.float32)),
            lambda: x + 1.0,
            lambda: x.add_(1.0),
            lambda: x[1:],
            x.clone,
            x.numpy,
            x.read_async,
            x.close,
            clone.close,
            plan.replay,
            plan.close,
            lambda: run(4, x=x, count=4, factor=1.0, value=1.0),
            lambda: Plan("other"),
            lambda: gpu.pool.take(16),
        ]
        for call in calls:
            with pytest.raises(WrongThread, match="thread 'helper', but the GPU belongs to thread 'MainThread'"):
                in_thread(call)
        assert {(b.id, b.owners, b.pins) for b in gpu.tracker.live} == held
        plan.replay()
        assert x.numpy().tolist() == [4] * 4
        assert clone.numpy().tolist() == [2] * 4


def test_the_last_reference_can_be_dropped_in_any_thread(gpu: Gpu) -> None:
    box = [Tensor.zeros(4) + 1.0]
    gpu.wait_idle()
    block = box[0].block
    in_thread(box.clear)
    gc.collect()
    assert block.owners == 1, "freed in the middle of something"
    gpu.wait_idle()
    assert block.owners == 0


def test_after_the_owning_thread_ends_the_next_caller_owns_the_gpu() -> None:
    code = """
import threading, vertigrad
from vertigrad import Tensor
box = []
first = threading.Thread(target=lambda: box.append(Tensor.full(2, 3.0)))
first.start(); first.join()
assert (box[0] + 1.0).numpy().tolist() == [4, 4]
try:
    errors = []
    def late():
        try: box[0].numpy()
        except vertigrad.errors.WrongThread as error: errors.append(error)
    second = threading.Thread(target=late)
    second.start(); second.join()
finally:
    box[0].close()
print(len(errors))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_no_grad_applies_to_one_thread_only() -> None:
    with no_grad():
        assert not graph.enabled()
        assert in_thread(graph.enabled)

    def pause() -> bool:
        with no_grad():
            return graph.enabled()

    assert not in_thread(pause)
    assert graph.enabled()


def test_no_grad_applies_to_one_task_only() -> None:
    async def paused(entered: asyncio.Event, leave: asyncio.Event) -> bool:
        with no_grad():
            entered.set()
            await leave.wait()
            return graph.enabled()

    async def both() -> tuple[bool, bool]:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(paused(entered, leave))
        await entered.wait()
        here = graph.enabled()
        leave.set()
        return here, await task

    assert asyncio.run(both()) == (True, False)


def test_a_plan_records_calls_of_one_task(gpu: Gpu) -> None:
    async def record(plan: Plan, x: Tensor, entered: asyncio.Event, leave: asyncio.Event) -> None:
        with plan.recording():
            entered.set()
            await leave.wait()
            x.add_(1.0)

    async def both(plan: Plan, x: Tensor, y: Tensor) -> None:
        entered, leave = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(record(plan, x, entered, leave))
        await entered.wait()
        assert gpu.recording is None
        y.add_(1.0)
        leave.set()
        await task

    with Tensor.zeros(1) as x, Tensor.zeros(1) as y, Plan("of one task") as plan:
        asyncio.run(both(plan, x, y))
        assert len(plan) == 1
        plan.replay()
        assert (x.item(), y.item()) == (1, 1)


@pytest.fixture
def unbounded(gpu: Gpu):
    yield
    gpu.pool.budget = None


def test_a_memory_limit_applies_from_its_call_on(gpu: Gpu, unbounded: None) -> None:
    with Tensor.zeros(1 << 20, name="first") as first:
        Tensor.zeros(2 << 20).close()
        gpu.wait_idle()
        in_use = gpu.pool.held_bytes - gpu.pool.free_bytes
        assert gpu.pool.free_bytes >= 8 << 20
        assert vertigrad.gpu(memory=in_use + (1 << 20)) is gpu
        assert gpu.pool.held_bytes <= in_use + (1 << 20), "free blocks were retained"
        with pytest.raises(OutOfMemory, match="first"):
            Tensor.zeros(1 << 20)
        vertigrad.gpu(memory=in_use + (5 << 20))
        Tensor.zeros(1 << 20).close()
        assert first.numpy().sum() == 0
    vertigrad.gpu()
    assert gpu.pool.budget is not None, "a call without a bound keeps it"


@pytest.mark.parametrize("memory", [0, -1, 1.5, "2G"])
def test_an_invalid_memory_limit(gpu: Gpu, memory: Any) -> None:
    budget = gpu.pool.budget
    with pytest.raises(ParameterError, match="number of bytes"):
        vertigrad.gpu(memory=memory)
    assert gpu.pool.budget == budget
