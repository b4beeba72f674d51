"""`FrameWriter` writes frames in a thread: all of them, in order, also after errors."""

import threading

import numpy as np
import pytest

from vertigrad.errors import InputError, VertigradError
from vertigrad.headless.frame_writer import QUEUED, FrameWriter


class Notes:
    """An output that records its calls."""

    def __init__(self, fails_at=None, fails_to_close=False):
        self.images, self.closed, self.discarded, self.go = [], False, False, threading.Event()
        self._fails_at, self._fails_to_close = fails_at, fails_to_close

    def put(self, frame, image):
        self.go.wait(20)
        if frame == self._fails_at:
            raise InputError("the disk is full")
        self.images.append((frame, int(image[0, 0, 0])))

    def close(self):
        self.closed = True
        if self._fails_to_close:
            raise InputError("it cannot be finished")

    def discard(self):
        self.discarded = True


def image(number):
    return np.full((2, 2, 4), number, np.uint8)


def writer(tmp_path, notes, count, wait=True):
    queue = FrameWriter(tmp_path / "video.mp4", lambda: notes)
    for number in range(count):
        queue.put(image(number))
    queue.finish()
    notes.go.set()
    if wait:
        queue.wait()
    return queue


def test_all_images_in_their_order(tmp_path):
    notes = Notes()
    notes.go.set()
    queue = writer(tmp_path, notes, 50)
    assert notes.images == [(n, n) for n in range(50)] and notes.closed
    assert queue.done and queue.error is None and queue.frames == 50 and queue.nbytes == 0
    (tmp_path / "video.mp4").write_bytes(b"12345")
    assert queue.nbytes == 5


def test_a_full_queue_blocks_and_drops_no_frame(tmp_path):
    notes = Notes()
    queue = FrameWriter(tmp_path / "video.mp4", lambda: notes)
    count = QUEUED + 5

    def fill():
        for number in range(count):
            queue.put(image(number))
        queue.finish()

    filling = threading.Thread(target=fill)
    filling.start()
    filling.join(0.3)
    assert filling.is_alive(), "one is being written, QUEUED wait, and the next does not fit"
    notes.go.set()
    filling.join(20)
    queue.wait()
    assert [frame for frame, _ in notes.images] == list(range(count))


@pytest.mark.parametrize("fails_at", [0, 3])
def test_an_error_is_raised_later_and_put_does_not_block(tmp_path, fails_at):
    notes = Notes(fails_at)
    notes.go.set()
    queue = writer(tmp_path, notes, 40)
    assert str(queue.error) == "the disk is full" and queue.frames == fails_at
    assert notes.discarded and not notes.closed


def test_an_error_in_close(tmp_path):
    notes = Notes(fails_to_close=True)
    queue = writer(tmp_path, notes, 3)
    assert str(queue.error) == "it cannot be finished" and queue.frames == 3 and notes.discarded


def test_an_output_that_cannot_be_opened(tmp_path):
    def opened():
        raise InputError("no such folder")

    queue = FrameWriter(tmp_path / "video.mp4", opened)
    for number in range(30):
        queue.put(image(number))
    queue.finish()
    queue.wait()
    assert str(queue.error) == "no such folder" and queue.frames == 0


def test_the_output_is_abandoned(tmp_path):
    notes = Notes()
    notes.go.set()
    queue = FrameWriter(tmp_path / "image.png", lambda: notes)
    queue.abort(InputError("lost"))
    queue.wait()
    assert str(queue.error) == "lost" and notes.images == [] and notes.discarded


def test_cancel_does_not_block_and_leaves_nothing(tmp_path):
    """Not even while the queue is full; the image that is being written is the last one."""
    notes = Notes()
    queue = FrameWriter(tmp_path / "video.mp4", lambda: notes)
    for number in range(QUEUED):
        queue.put(image(number))
    assert queue.behind
    queue.cancel()
    assert not queue.done and not notes.discarded
    notes.go.set()
    queue.wait()
    assert len(notes.images) <= 1 and notes.discarded and not notes.closed and queue.error is None


class Unexpected(Exception):
    """An error that no output is known to raise."""


@pytest.mark.parametrize("where", ["opened", "put", "close"])
def test_an_unexpected_error_is_raised_and_put_does_not_block(tmp_path, caplog, where):
    class Output(Notes):
        def put(self, frame, image):
            if where == "put":
                raise Unexpected("of the encoder")

        def close(self):
            if where == "close":
                raise Unexpected("of the encoder")

    def opened():
        if where == "opened":
            raise Unexpected("of the encoder")
        return Output()

    queue = FrameWriter(tmp_path / "video.mp4", opened)
    filling = threading.Thread(target=lambda: [queue.put(image(n)) for n in range(3 * QUEUED)], daemon=True)
    filling.start()
    filling.join(20)
    assert not filling.is_alive(), "put waits for ever"
    queue.finish()
    queue.wait()
    assert isinstance(queue.error, VertigradError) and "Unexpected: of the encoder" in str(queue.error)
    assert "Traceback" in caplog.text, "its traceback is in the log"
