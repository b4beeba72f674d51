"""What all tests share: the order they run in, the GPU, and a check that nothing of it stays held."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vertigrad.gpu import Gpu

TESTS = Path(__file__).parent
# The suite runs cheapest first; these folders, in this order, wait for all others.
LAST = ("window", "packaging", "bench")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _folder(item) == "bench":
            item.add_marker("bench")
    items.sort(key=_rank)


def pytest_collection_finish() -> None:
    gc.freeze()  # what was imported and collected lives to the end: the collector need not go through it each time


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


def _rank(item: pytest.Item) -> int:
    folder = _folder(item)
    return LAST.index(folder) + 1 if folder in LAST else 0


@pytest.fixture(scope="session", autouse=True)
def nothing_remembered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's own settings are neither read nor written, by programs that tests start included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path_factory.mktemp("settings")))
        yield


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The one GPU of the process."""
    import vertigrad

    return vertigrad.gpu()


@pytest.fixture
def steady(gpu: Gpu) -> Iterator[Gpu]:
    """The GPU, idle; fails the test afterwards if a block, an owner, a pin or recorded work is left over from it."""
    before = _held(gpu)
    yield gpu
    if _held(gpu) - before:
        gc.collect()  # takes longer than most tests, and few of them make cycles
    assert not _held(gpu) - before, f"left behind by the test:\n{gpu.tracker.leak_report()}"
    assert not gpu.frames.open
    assert not gpu.recorder.pending
    give_up = time.perf_counter() + 20
    while gpu.readback.in_flight and time.perf_counter() < give_up:
        gpu.poll()
    assert gpu.readback.in_flight == 0


def _held(gpu: Gpu) -> set[tuple[int, int, str, int, int, int]]:
    """Live blocks with their counts, once everything dropped and submitted has had its effect."""
    gpu.wait_idle()
    return {(b.id, b.generation, b.name, b.owners, b.pins, b.published) for b in gpu.tracker.live}
