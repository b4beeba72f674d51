"""Shared by all tests: the order in which they run, the GPU, and a check that a test leaves nothing allocated on it."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase, ReadOnlyDatabase
from hypothesis.internal.conjecture import providers

from . import turns, unset

if TYPE_CHECKING:
    from vertigrad.gpu import Gpu
    from vertigrad.memory import Block

TESTS = Path(__file__).parent
Held = tuple[int, int, str, int, int, int]  # a live block: id, generation, name, owners, pins, published
# The suite runs cheapest first; these folders, in this order, wait for all others.
LAST = ("packaging", "window", "bench")

# The same examples at every run (pyproject.toml gives the seed), and those that `make explore` found before.
FOUND = DirectoryBasedExampleDatabase(TESTS / "fuzz" / "examples")
# No deadlines: kernels compile at first use, and the machine may have other things to do.
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", RELAXED, database=ReadOnlyDatabase(FOUND))
settings.register_profile("explore", RELAXED, database=FOUND, print_blob=True)
if "VERTIGRAD_EXPLORE" in os.environ:
    settings.load_profile("explore")
else:
    settings.load_profile("repeatable")
    # Hypothesis also draws constants out of the modules that are loaded by then, which depend on the tests run before.
    providers._get_local_constants = lambda: providers._local_constants


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--exhaustive", action="store_true", help="run also tests that take turns from commit to commit")


def pytest_configure() -> None:
    """Ctrl-C interrupts also where a shell runs the tests in the background, whose processes ignore it at the start."""
    os.environ.setdefault(turns.COMMIT, str(turns.commit()))  # the same one for all processes of this run
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    turns.deselect(config, items)
    for item in items:
        if _folder(item) == "bench":
            item.add_marker("bench")
    items.sort(key=_rank)


def pytest_collection_finish() -> None:
    gc.freeze()  # modules and collected tests live to the end: the garbage collector can skip them


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


def _rank(item: pytest.Item) -> int:
    folder = _folder(item)
    return LAST.index(folder) + 1 if folder in LAST else 0


@pytest.fixture(scope="session", autouse=True)
def isolated_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's own settings are neither read nor written, by programs that tests start included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path_factory.mktemp("settings")))
        patch.setenv("VERTIGRAD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def unset_memory(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make what reads elements before they are written give other results than a test expects."""
    if _folder(request.node) not in LAST:
        unset.fill(monkeypatch)


@pytest.fixture(scope="session")
def gpu() -> Gpu:
    """The one GPU of the process."""
    import vertigrad

    return vertigrad.gpu()


@pytest.fixture(scope="session")
def reachable() -> set[Held]:
    """What the last garbage collection left: it is in use, and no reason for another one."""
    return set()


@pytest.fixture
def steady(gpu: Gpu, reachable: set[Held]) -> Iterator[Gpu]:
    """The GPU, idle; fails the test afterwards if a block, an owner, a pin or recorded work is left over from it."""
    if _held(gpu) - reachable:
        gc.collect()  # cycles of an earlier test must not be collected during this one; takes half a second
        reachable.clear()
        reachable.update(_held(gpu))
    before = _held(gpu)
    yield gpu
    if _held(gpu) - before:
        gc.collect()  # takes longer than most tests, and few of them make cycles
    assert not _held(gpu) - before, f"not released by the test:\n{gpu.tracker.leak_report()}"
    assert not gpu.frames.open
    assert not gpu.recorder.pending
    give_up = time.perf_counter() + 300
    while gpu.readback.in_flight and time.perf_counter() < give_up:
        gpu.poll()
    assert gpu.readback.in_flight == 0


@pytest.fixture
def added(steady: Gpu) -> Callable[[], list[Block]]:
    """A function that returns the blocks allocated since the test began that are still live, once the GPU is idle."""
    before = {block.id for block in steady.tracker.live}

    def added() -> list[Block]:
        steady.wait_idle()
        return [block for block in steady.tracker.live if block.id not in before]

    return added


def _held(gpu: Gpu) -> set[Held]:
    """Live blocks with their counts, once the GPU is idle."""
    gpu.wait_idle()
    return {(b.id, b.generation, b.name, b.owners, b.pins, b.published) for b in gpu.tracker.live}


@pytest.fixture
def f64_gpu(steady: Gpu) -> Gpu:
    """As `steady`; skips the test where the adapter lacks shader-f64."""
    if "shader-f64" not in steady.features:
        pytest.skip("no f64 here")
    return steady
