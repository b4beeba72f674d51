"""Files that are written anew are told once, when they are whole."""

import os
from pathlib import Path

import pytest

from vertigrad.session.hot_reload import DELAY, EMPTY_DELAY, EVERY, FileWatcher


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.wgsl"
    path.write_text("one")
    return path


def told(watch: FileWatcher, clock: Clock, file: Path, seconds: float) -> int:
    """How often the file was told of in that time, looking ten times as often as it does."""
    count = 0
    for _ in range(round(seconds / (EVERY / 10))):
        clock.now += EVERY / 10
        count += len(watch.written({file}))
    return count


def test_a_file_that_stays_as_it_is_is_not_told(clock, file):
    watch = FileWatcher(clock)
    assert told(watch, clock, file, 3.0) == 0


def test_a_file_that_is_written_is_told_once_and_soon(clock, file):
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    file.write_text("two")
    assert told(watch, clock, file, DELAY) == 0
    assert told(watch, clock, file, DELAY + 2 * EVERY) == 1
    assert told(watch, clock, file, 3.0) == 0


def test_a_file_that_is_still_being_written_is_waited_for(clock, file):
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    for part in range(20):
        file.write_text("two" * (part + 2))
        assert told(watch, clock, file, DELAY * 0.9) == 0
    assert told(watch, clock, file, DELAY + 2 * EVERY) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_a_file_that_is_gone_or_empty_for_a_moment_is_waited_for(clock, file, gone):
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    if gone:
        file.unlink()
    else:
        file.write_text("")
    assert told(watch, clock, file, EMPTY_DELAY * 0.8) == 0
    file.write_text("other")
    assert told(watch, clock, file, DELAY + 2 * EVERY) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_a_file_that_stays_gone_or_empty_is_told(clock, file, gone):
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    if gone:
        file.unlink()
    else:
        file.write_text("")
    assert told(watch, clock, file, EMPTY_DELAY + 3 * EVERY) == 1


def test_a_file_that_takes_the_place_of_another_is_told(clock, file):
    """Same size, same time: only the inode is another."""
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    times = file.stat()
    new = file.with_suffix(".tmp")
    new.write_text("two")
    os.utime(new, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(new, file)
    assert told(watch, clock, file, 1.0) == 1


def test_a_file_that_is_put_back_as_it_was_is_not_told(clock, file):
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    os.rename(file, file.with_suffix(".bak"))
    told(watch, clock, file, 2 * EVERY)
    os.rename(file.with_suffix(".bak"), file)
    assert told(watch, clock, file, 3.0) == 0


def test_a_file_is_forgotten_when_it_is_no_longer_looked_at(clock, file):
    watch = FileWatcher(clock)
    told(watch, clock, file, 0.5)
    clock.now += 1.0
    watch.written(set())
    file.write_text("two")
    assert told(watch, clock, file, 3.0) == 0
