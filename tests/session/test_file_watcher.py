"""Files that change are reported once, when they are complete."""

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


def reports(watch: FileWatcher, clock: Clock, file: Path, seconds: float) -> int:
    """How often a change of the file was reported in that time, with ten polls per interval."""
    count = 0
    for _ in range(round(seconds / (EVERY / 10))):
        clock.now += EVERY / 10
        count += len(watch.written({file}))
    return count


def test_an_unchanged_file_is_not_reported(clock, file):
    watch = FileWatcher(clock)
    assert reports(watch, clock, file, 3.0) == 0


def test_a_changed_file_is_reported_once_and_soon(clock, file):
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    file.write_text("two")
    assert reports(watch, clock, file, DELAY) == 0
    assert reports(watch, clock, file, DELAY + 2 * EVERY) == 1
    assert reports(watch, clock, file, 3.0) == 0


def test_a_file_that_is_being_written_is_not_reported_yet(clock, file):
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    for part in range(20):
        file.write_text("two" * (part + 2))
        assert reports(watch, clock, file, DELAY * 0.9) == 0
    assert reports(watch, clock, file, DELAY + 2 * EVERY) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_a_file_that_is_missing_or_empty_for_a_moment_is_not_reported(clock, file, gone):
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    if gone:
        file.unlink()
    else:
        file.write_text("")
    assert reports(watch, clock, file, EMPTY_DELAY * 0.8) == 0
    file.write_text("other")
    assert reports(watch, clock, file, DELAY + 2 * EVERY) == 1


@pytest.mark.parametrize("gone", [True, False])
def test_a_file_that_stays_missing_or_empty_is_reported(clock, file, gone):
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    if gone:
        file.unlink()
    else:
        file.write_text("")
    assert reports(watch, clock, file, EMPTY_DELAY + 3 * EVERY) == 1


def test_a_replaced_file_is_reported(clock, file):
    """Same size, same time: only the inode differs."""
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    times = file.stat()
    new = file.with_suffix(".tmp")
    new.write_text("two")
    os.utime(new, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(new, file)
    assert reports(watch, clock, file, 1.0) == 1


def test_a_restored_file_is_not_reported(clock, file):
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    os.rename(file, file.with_suffix(".bak"))
    reports(watch, clock, file, 2 * EVERY)
    os.rename(file.with_suffix(".bak"), file)
    assert reports(watch, clock, file, 3.0) == 0


def test_a_file_is_forgotten_when_it_is_no_longer_watched(clock, file):
    watch = FileWatcher(clock)
    reports(watch, clock, file, 0.5)
    clock.now += 1.0
    watch.written(set())
    file.write_text("two")
    assert reports(watch, clock, file, 3.0) == 0
