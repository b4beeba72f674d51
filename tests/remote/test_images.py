"""Images over the socket: encoded, without loss at rest, of the size of the viewer's page, dropped for the slow."""

from __future__ import annotations

import io
import time

import av
import numpy as np
import pytest
from PIL import Image

from vertigrad.remote import Served, stream
from vertigrad.remote.encoding import H264, Jpeg, Kind, codec_name
from vertigrad.session import commands

from .driver import Program, Refused, driven, settled


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def exact_and_drawn(served: Served, viewer: Program) -> tuple[np.ndarray, np.ndarray]:
    """The exact image that a viewer got, and what the canvas had drawn under the same number."""
    while True:
        _, number, _, _, data = viewer.image(Kind.PNG)
        newest = served.viewer.window._images.newest  # pyright: ignore
        if newest.number == number:  # else the GUI has drawn another since, which is sent as well
            return pixels(data), newest.pixels[..., :3]


def close_to(one: np.ndarray, other: np.ndarray) -> bool:
    return one.shape == other.shape and float(np.abs(one.astype(float) - other).mean()) < 4.0


@pytest.fixture
def gradient() -> np.ndarray:
    rows, columns = np.mgrid[0:96, 0:128]
    return np.stack([rows * 2, columns * 2, 255 - rows, np.full_like(rows, 255)], -1).astype(np.uint8)


def test_each_h264_packet_is_decodable_at_once(gradient: np.ndarray):
    encoder, decoder = H264(), av.CodecContext.create("h264", "r")
    decoder.thread_count, decoder.options = 1, {"flags": "low_delay"}  # no frame waits for the next
    for number in range(5):
        image = np.roll(gradient, 8 * number, 1)
        kind, data = encoder.encode(image)
        assert kind is (Kind.H264_DELTA if number else Kind.H264_KEY)
        (frame,) = decoder.decode(av.Packet(data))  # pyright: ignore
        assert close_to(frame.to_ndarray(format="rgb24"), image[..., :3])
    assert encoder.codec.startswith("avc1.42")


def test_another_size_begins_with_a_key_frame(gradient: np.ndarray):
    encoder = H264()
    kinds = [encoder.encode(image)[0] for image in (gradient, gradient, gradient[:64])]
    assert kinds == [Kind.H264_KEY, Kind.H264_DELTA, Kind.H264_KEY]


def test_the_codec_has_profile_and_level_of_the_stream():
    assert codec_name(bytes.fromhex("00000001 6742c01f 8c8d40")) == "avc1.42c01f"


def test_jpeg(gradient: np.ndarray):
    kind, data = Jpeg().encode(gradient)
    assert kind is Kind.JPEG and close_to(pixels(data), gradient[..., :3])


@pytest.mark.turns(2)
@pytest.mark.parametrize("codec", ["h264", "jpeg"])
def test_a_viewer_gets_the_image_and_at_rest_the_exact_one(served: Served, codec: str):
    def act():
        with Program(served) as viewer:
            viewer.call("watch", codec=codec)
            first = viewer.image()
            return first, exact_and_drawn(served, viewer), viewer.notes

    first, (exact, drawn), notes = driven(served, act)
    assert first[0] is (Kind.H264_KEY if codec == "h264" else Kind.JPEG)
    np.testing.assert_array_equal(exact, drawn)
    assert ("control", {"yours": True, "viewers": 1}) in notes
    if codec == "h264":
        assert any(method == "video" and params["codec"].startswith("avc1.") for method, params in notes)


@pytest.mark.turns(3)
def test_nothing_is_sent_at_rest(served: Served):
    """Also not for the frame rate in the Run panel: the last image is exact, and the last."""

    def act():
        with Program(served) as viewer:
            viewer.call("resize", width=1000, height=700, scale=1.0)
            viewer.call("watch", codec="jpeg")
            with pytest.raises(TimeoutError):
                while len(viewer.images) < 100:
                    viewer.receive(timeout=3.0)
            return [image[0] for image in viewer.images]

    kinds = driven(served, act)
    assert kinds[-1] is Kind.PNG and len(kinds) < 100
    assert "Run" in served.viewer.gui.workspace.visible_panels


def test_the_image_has_the_size_of_the_page(served: Served):
    def act():
        with Program(served) as viewer:
            viewer.call("watch", codec="jpeg")
            viewer.call("resize", width=501, height=301, scale=1.0)
            while (image := viewer.image())[2:4] != (500, 300):
                pass
            viewer.call("resize", width=1, height=99_999, scale=2.0)
            while (image := viewer.image())[2:4] != (64, 4096):
                pass
            return image

    assert driven(served, act)


@pytest.mark.turns(2)
def test_a_slow_viewer_gets_no_more_than_it_shows(served: Served):
    """And then the newest image: those between are dropped, while a quick viewer next to it gets them."""
    served.viewer._session.carry_out(commands.Play(True))

    def act():
        with Program(served) as slow, Program(served) as quick:
            slow.acknowledges = False
            slow.call("watch", codec="h264")
            quick.call("watch", codec="jpeg")
            end = time.monotonic() + 2.0
            while time.monotonic() < end:
                quick.receive()
            with pytest.raises(TimeoutError):
                while True:
                    slow.receive(timeout=0.3)
            waiting = [image[1] for image in slow.images]
            slow.notify("shown", number=waiting[-1])
            following = slow.image()[1]
            return waiting, following, [image[1] for image in quick.images]

    waiting, following, all_numbers = driven(served, act)
    assert len(waiting) == stream.IN_FLIGHT
    assert len(all_numbers) > 10
    assert following >= all_numbers[-1]


def test_no_image_is_read_back_for_nobody(served: Served):
    for _ in range(3):
        served.frame()
    assert served.viewer.window._reading is None  # pyright: ignore
    with_viewer = driven(served, lambda: watch_once(served))
    assert with_viewer and served.viewer.window._reading is not None  # pyright: ignore


def watch_once(served: Served) -> bool:
    with Program(served) as viewer:
        viewer.call("watch", codec="jpeg")
        return viewer.image()[0] is Kind.JPEG


def test_input_changes_the_image(served: Served):
    """A key pauses and plays, a drag moves the camera, by the viewer that is in control only."""
    session = served.viewer._session
    position = tuple(session.camera.position)

    def act():
        with Program(served) as viewer, Program(served) as other:
            viewer.call("watch", codec="jpeg")
            viewer.call("resize", width=1000, height=700, scale=1.0)
            while viewer.image()[2] != 1000:
                pass
            viewer.call("key", code="Space", key=" ", action="press")
            viewer.call("key", code="Space", key=" ", action="release")
            playing = settled(lambda: session.playing)
            viewer.call("pause")
            left, top, width, height = served.viewer.gui.viewport
            x, y = left + width / 2, top + height / 2
            viewer.call("pointer", x=x, y=y)
            viewer.call("button", x=x, y=y, button=0, pressed=True)
            viewer.call("pointer", x=x + 100, y=y)
            viewer.call("button", x=x + 100, y=y, button=0, pressed=False)
            moved = settled(lambda: tuple(session.camera.position) != position)
            with pytest.raises(Refused, match="control"):
                other.call("pointer", x=1.0, y=1.0)
            return playing, moved

    assert driven(served, act) == (True, True)


def test_control_goes_from_one_to_another(served: Served):
    def act():
        with Program(served) as first:
            first.call("watch", codec="jpeg")
            assert first.note("control") == {"yours": True, "viewers": 1} if not first.notes else True
            with Program(served) as second:
                second.call("watch", codec="jpeg")
                second.call("take_control")
                second.call("pointer", x=1.0, y=1.0)
                with pytest.raises(Refused, match="control"):
                    first.call("pointer", x=1.0, y=1.0)
            while first.notes[-1] != ("control", {"yours": True, "viewers": 1}):
                first.receive()
            first.call("pointer", x=1.0, y=1.0)

    driven(served, act)


def test_a_viewer_that_vanishes_holds_no_button(served: Served):
    def act():
        with Program(served) as viewer:
            viewer.call("watch", codec="jpeg")
            viewer.call("key", code="ShiftLeft", key="Shift", action="press", modifiers=["shift"])
            viewer.call("button", x=100.0, y=100.0, button=0, pressed=True)

    driven(served, act)
    for _ in range(20):
        served.frame()
        time.sleep(0.01)
    assert not any(served.viewer.gui.io.mouse_down)
    assert not served.viewer.gui.io.key_shift
