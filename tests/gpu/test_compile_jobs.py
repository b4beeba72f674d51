"""Pipelines are compiled when they are needed, or after the first frame."""

from __future__ import annotations

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
