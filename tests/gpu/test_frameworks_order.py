"""Submissions that use blocks of which frameworks have views: who waits for whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from vertigrad import errors
from vertigrad.gpu import Gpu, native
from vertigrad.tensor import Tensor


class View(NamedTuple):
    """How many views frameworks have of a block, and how many of them are used in turns."""

    views: int
    in_turns: int


@pytest.fixture
def viewed(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> Iterator[Tensor]:
    with Tensor.zeros(4) as x:
        gpu.wait_idle()
        monkeypatch.setitem(gpu.frameworks._views, x.block, View(views=1, in_turns=0))
        yield x


@pytest.fixture
def calls(gpu: Gpu, viewed: Tensor, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    calls: list[object] = []
    submit = native.submit

    def submitted(*arguments: object) -> int:
        calls.append("submit")
        return submit(*arguments)  # pyright: ignore

    monkeypatch.setattr(native, "submit", submitted)
    monkeypatch.setattr(gpu.frameworks, "wait", lambda: calls.append("frameworks"))
    monkeypatch.setattr(gpu, "wait", calls.append)
    return calls


def test_a_submission_of_a_viewed_block_waits_and_is_waited_for(gpu: Gpu, calls: list[object], viewed: Tensor) -> None:
    with viewed + 1.0:
        serial = gpu.submit()
    assert calls == ["frameworks", "submit", serial]


def test_a_block_that_is_used_in_turns_is_not_waited_for(
    gpu: Gpu, calls: list[object], viewed: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(gpu.frameworks._views, viewed.block, View(views=1, in_turns=1))
    with viewed + 1.0:
        gpu.submit()
    assert calls == ["frameworks", "submit"]


def test_other_submissions_wait_for_nobody(gpu: Gpu, calls: list[object]) -> None:
    with Tensor.zeros(4) as other, other + 1.0:
        gpu.submit()
    assert calls == ["submit"]


def test_work_of_a_framework_that_failed_is_an_error_and_drops_the_commands(
    gpu: Gpu, viewed: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise errors.GpuError("another framework's work on shared memory failed: CUDA_ERROR_ASSERT")

    with monkeypatch.context() as patched:
        patched.setattr(gpu.frameworks, "wait", fail)
        with viewed + 1.0, pytest.raises(errors.GpuError, match="CUDA_ERROR_ASSERT"):
            gpu.submit()
    with viewed + 2.0 as after:
        assert after.numpy().tolist() == [2.0] * 4
