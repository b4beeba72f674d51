"""Pipelines are compiled when they are needed, or after the first frame."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError, Event, current_thread
from typing import Any

import pytest

from vertigrad.gpu import Gpu, Kernel, Plan, compile_jobs
from vertigrad.gpu.compile_jobs import CompileJob, start_waiting
from vertigrad.tensor import Tensor

from .kernels import NO_UNIFORM


def test_a_job_waits_for_its_first_use() -> None:
    ran: list[int] = []
    job = CompileJob(lambda: ran.append(1) or len(ran))
    assert not ran
    assert (job.result(), job.result(), ran) == (1, 1, [1])


def test_jobs_that_nobody_needed_begin_with_the_second_frame(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(gpu.tracker, "frame", 0)
        job = CompileJob(lambda: started.append(1))
        with gpu.frames.frame():
            start_of_first = list(started)
        with gpu.frames.frame():
            pass
        job.start().result()
    assert (start_of_first, started) == ([], [1])


def test_a_job_that_nobody_holds_is_dropped() -> None:
    ran: list[int] = []
    CompileJob(lambda: ran.append(1))
    start_waiting()
    assert not ran


def test_an_error_is_raised_at_each_use() -> None:
    job = CompileJob(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            job.result()


def test_an_interruption_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread that needs it compiles it, and something as Ctrl+C interrupts that."""

    class Interruption(BaseException):
        pass

    results = iter([Interruption, 7])

    def create() -> int:
        if isinstance(result := next(results), int):
            return result
        raise result

    leave = Event()
    with ThreadPoolExecutor(1) as busy:
        busy.submit(leave.wait)
        monkeypatch.setattr(compile_jobs, "_THREADS", busy)
        job = CompileJob(create)
        try:
            with pytest.raises(Interruption):
                job.result()
            assert (job.result(), job.result()) == (7, 7)
        finally:
            leave.set()


def test_a_job_that_two_threads_start_is_submitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    both, submitted = Barrier(2), list[int]()

    class Slow(ThreadPoolExecutor):
        def submit(self, *call: Any, **named: Any) -> Future[Any]:
            submitted.append(1)
            with suppress(BrokenBarrierError):
                both.wait(0.2)  # until the other one is here too, if it comes
            return super().submit(*call, **named)

    with Slow(1) as slow, ThreadPoolExecutor(2) as starting:
        monkeypatch.setattr(compile_jobs, "_THREADS", slow)
        job = CompileJob(lambda: 3)
        assert [one.result().result() for one in [starting.submit(job.start) for _ in range(2)]] == [3, 3]
    assert submitted == [1]


def test_recording_compiles_nothing(gpu: Gpu) -> None:
    """On a software adapter a plan's kernels are compiled by its first replay, all of them side by side."""
    if gpu.adapter.kind != "software":
        pytest.skip("compiled while others are recorded")
    kernels = [Kernel(NO_UNIFORM, "main", f"recorded {number}", wait=False) for number in range(2)]
    with Plan() as plan, Tensor.zeros(4) as x:
        for kernel in kernels:
            plan.dispatch(kernel, 4, x=x)
        assert {kernel._job for kernel in kernels} <= set(compile_jobs._waiting)
        plan.replay()
        assert not {kernel._job for kernel in kernels} & set(compile_jobs._waiting)
        gpu.sync()


def test_a_job_that_no_thread_has_begun_is_done_by_who_needs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By one alone, also if several need it at once; the others wait."""
    leave, begun, ran = Event(), Event(), []
    with ThreadPoolExecutor(1) as busy, ThreadPoolExecutor(4) as needing:
        busy.submit(leave.wait)
        monkeypatch.setattr(compile_jobs, "_THREADS", busy)

        def create() -> str:
            ran.append(current_thread())
            begun.set()
            leave.wait(0.05)
            return "done"

        job = CompileJob(create)
        job.start()
        found = [needing.submit(job.result) for _ in range(4)]
        assert [one.result() for one in found] == ["done"] * 4 and begun.is_set()
        assert len(ran) == 1 and job.start().done()
        leave.set()
