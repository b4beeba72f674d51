"""Pipelines are compiled when they are needed, or after the first frame."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event, current_thread

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
