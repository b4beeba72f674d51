"""Pictures written by a thread of their own: all of them, in their order, whatever goes wrong."""

import threading

import numpy as np
import pytest

from vertigrad.errors import InputError, VertigradError
from vertigrad.headless.frame_writer import QUEUED, FrameWriter


class Notes:
    """An output that keeps what it is given."""

    def __init__(self, fails_at=None, fails_to_close=False):
        self.pictures, self.closed, self.go = [], False, threading.Event()
        self._fails_at, self._fails_to_close = fails_at, fails_to_close

    def put(self, frame, picture):
        self.go.wait(20)
        if frame == self._fails_at:
            raise InputError("the disk is full")
        self.pictures.append((frame, int(picture[0, 0, 0])))

    def close(self):
        self.closed = True
        if self._fails_to_close:
            raise InputError("it cannot be finished")


def picture(number):
    return np.full((2, 2, 4), number, np.uint8)


def writer(tmp_path, notes, count, wait=True):
    made = FrameWriter(tmp_path / "video.mp4", lambda: notes)
    for number in range(count):
        made.put(picture(number))
    made.finish()
    notes.go.set()
    if wait:
        made.wait()
    return made


def test_all_pictures_in_their_order(tmp_path):
    notes = Notes()
    notes.go.set()
    made = writer(tmp_path, notes, 50)
    assert notes.pictures == [(n, n) for n in range(50)] and notes.closed
    assert made.done and made.error is None and made.frames == 50 and made.nbytes == 0
    (tmp_path / "video.mp4").write_bytes(b"12345")
    assert made.nbytes == 5


def test_it_waits_rather_than_to_drop_one(tmp_path):
    notes = Notes()
    made = FrameWriter(tmp_path / "video.mp4", lambda: notes)
    count = QUEUED + 5

    def fill():
        for number in range(count):
            made.put(picture(number))
        made.finish()

    filling = threading.Thread(target=fill)
    filling.start()
    filling.join(0.3)
    assert filling.is_alive(), "one is being written, QUEUED wait, and the next has no place"
    notes.go.set()
    filling.join(20)
    made.wait()
    assert [frame for frame, _ in notes.pictures] == list(range(count))


@pytest.mark.parametrize("fails_at", [0, 3])
@pytest.mark.parametrize("fails_to_close", [False, True])
def test_an_error_is_kept_and_nobody_waits_for_a_place(tmp_path, fails_at, fails_to_close):
    notes = Notes(fails_at, fails_to_close)
    notes.go.set()
    made = writer(tmp_path, notes, 40)
    assert str(made.error) == "the disk is full" and notes.closed and made.frames == fails_at


def test_an_error_at_the_end(tmp_path):
    notes = Notes(fails_to_close=True)
    made = writer(tmp_path, notes, 3)
    assert str(made.error) == "it cannot be finished" and made.frames == 3


def test_an_output_that_cannot_be_opened(tmp_path):
    def opened():
        raise InputError("no such folder")

    made = FrameWriter(tmp_path / "video.mp4", opened)
    for number in range(30):
        made.put(picture(number))
    made.finish()
    made.wait()
    assert str(made.error) == "no such folder" and made.frames == 0


def test_it_is_given_up(tmp_path):
    notes = Notes()
    notes.go.set()
    made = FrameWriter(tmp_path / "image.png", lambda: notes)
    made.abort(InputError("lost"))
    made.wait()
    assert str(made.error) == "lost" and notes.pictures == [] and notes.closed


class Unexpected(Exception):
    """Nothing that writes pictures is known to raise it."""


@pytest.mark.parametrize("where", ["opened", "put", "close"])
def test_an_error_that_nobody_expected_is_reported_and_nobody_waits(tmp_path, caplog, where):
    class Output(Notes):
        def put(self, frame, picture):
            if where == "put":
                raise Unexpected("of the encoder")

        def close(self):
            if where == "close":
                raise Unexpected("of the encoder")

    def opened():
        if where == "opened":
            raise Unexpected("of the encoder")
        return Output()

    made = FrameWriter(tmp_path / "video.mp4", opened)
    filling = threading.Thread(target=lambda: [made.put(picture(n)) for n in range(3 * QUEUED)], daemon=True)
    filling.start()
    filling.join(20)
    assert not filling.is_alive(), "put waits for ever"
    made.finish()
    made.wait()
    assert isinstance(made.error, VertigradError) and "Unexpected: of the encoder" in str(made.error)
    assert "Traceback" in caplog.text, "its traceback is in the log"
