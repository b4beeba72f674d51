"""How long each frame of a recording's playback waits for its data, read when it is shown and read ahead.

    python tests/bench/recording_playback.py --points 1000000 --frames 120 --fps 30 [--folder DIR]

The recording has positions of points that move, and is larger than what is in memory of it. Needs no GPU: an upload
costs the same either way.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np

from vertigrad.models.data.frames_ahead import FramesAhead
from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter, open_recording

NAME = "cloud.position"


def write(path: Path, points: int, frames: int) -> int:
    """A recording of points that orbit; returns the bytes of a frame."""
    start = np.random.default_rng(0).normal(size=(points, 3)).astype(np.float32)
    turn = np.cross(start, np.float32([0, 0, 1]))
    tensor = RecordedTensor((points, 3), "f32")
    with closing(RecordingWriter(path, {NAME: tensor}, Recorded("cloud", 0.0, 1 / 60), frames)) as writer:
        for at in range(frames):
            writer.add({NAME: start + turn * np.float32(0.01 * at)})
    return tensor.nbytes


def waits(take: Callable[[int], object], count: int, interval: float) -> np.ndarray:
    """Milliseconds that each frame but the first waits, a frame each `interval` [s] at most."""
    take(0)
    found: list[float] = []
    due = time.perf_counter()
    for number in range(1, count):
        due = max(due + interval, time.perf_counter())
        time.sleep(max(due - time.perf_counter(), 0.0))
        before = time.perf_counter()
        take(number)
        found.append(1e3 * (time.perf_counter() - before))
    return np.array(found)


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--frames", type=int, default=120)
    parser.add_argument("--fps", type=float, default=30.0)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "run.vgz"
        frame_bytes = write(path, options.points, options.frames)
        print(f"{options.frames} frames of {frame_bytes / 1e6:.1f} MB, {path.stat().st_size / 1e6:.0f} MB compressed")
        with closing(open_recording(path)) as recording:
            found = {"when shown": waits(partial(recording.frame, NAME), recording.count, 1 / options.fps)}
            with closing(FramesAhead(recording, [NAME])) as ahead:
                print(f"in memory: {ahead.room} frames, {ahead.room * frame_bytes / 1e6:.0f} MB")
                found["ahead"] = waits(ahead.take, recording.count, 1 / options.fps)
    for name, ms in found.items():
        middle, most = np.quantile(ms, [0.5, 0.95])
        print(f"read {name:10}: median {middle:7.2f} ms, 95 % {most:7.2f}, longest {ms.max():7.2f}")


if __name__ == "__main__":
    main()
