"""Videos: the displayed image depends only on the time, each is uploaded once, and a window never waits for one."""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import clip, screen
from vertigrad.models.data.clip import Clip
from vertigrad.models.data.footage import Footage
from vertigrad.models.data.reader import WITHIN_REACH, Reader
from vertigrad.models.data.screen import ScreenModel
from vertigrad.models.data.video import Params, Video

from .footage import COLUMNS, ROWS, film, frames, nearest

COUNT, RATE = 20, 10
IMAGES = frames(COUNT)
BYTES = ROWS * COLUMNS * 3
Make = Callable[..., Video]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("films")
    for name in ("a.mp4", "a.webm", "a.gif"):
        film(folder / name, IMAGES, RATE)
    return folder


@pytest.fixture
def make(steady: Gpu, films: Path) -> Iterator[Make]:
    created: list[Video] = []

    def make_model(file: str | Path = "a.mp4", **values: Any) -> Video:
        created.append(Video("clip", Params(file=films / file, **values), {}, 0))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


class Slow(Footage):
    """Images of one byte value that arrive when released."""

    def __init__(self, count: int):
        self.rows, self.columns, self.starts, self.duration = 2, 3, range(count), float(count)
        self.gate = threading.Semaphore(0)
        self.begun: list[int] = []

    def frames(self, first: int) -> Generator[np.ndarray, None, None]:
        self.begun.append(first)
        for number in range(first, self.count):
            self.gate.acquire()
            yield np.full((2, 3, 3), number, np.uint8)

    def let(self, count: int) -> None:
        self.gate.release(count)


class Screen(ScreenModel):
    """Shows footage passed in place of parameters."""

    @staticmethod
    def footage(params: Footage) -> Footage:
        return params

    def step(self, dt: float) -> None:
        self.advance(dt)


@pytest.fixture
def slow(steady: Gpu) -> Iterator[Callable[[int], tuple[Slow, Screen]]]:
    created: list[tuple[Slow, Screen]] = []

    def make_screen(count: int) -> tuple[Slow, Screen]:
        footage = Slow(count)
        footage.let(1)
        created.append((footage, Screen("slow", footage, {}, 0)))
        return created[-1]

    yield make_screen
    steady.frames.live = False
    for footage, shown in created:
        footage.let(10_000)
        shown.close()


def displayed(model: Video) -> np.ndarray:
    return np.uint8(np.round(model.outputs()["pixels"].numpy() * 255))


def value(shown: Screen) -> int:
    """The number of the image that a screen of `Slow` footage shows."""
    return round(float(shown.outputs()["planes"].numpy().mean()) * 255)


def arrived(shown: Screen, count: int) -> None:
    """Wait until this number of images was read."""
    give_up = time.perf_counter() + 300
    while len(shown._reader._ready) < count and time.perf_counter() < give_up:
        time.sleep(0.002)
    assert len(shown._reader._ready) == count


# displayed images ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.mp4", "a.webm", "a.gif"])
def test_every_image_is_shown_at_its_time_and_the_video_loops(make: Make, name: str) -> None:
    model = make(name)
    numbers = []
    for _ in range(2 * COUNT + 3):
        numbers.append(nearest(displayed(model), IMAGES))
        model.step(1 / RATE)
    assert numbers == [n % COUNT for n in range(2 * COUNT + 3)]


def test_steps_and_time_scale_choose_the_frame(make: Make) -> None:
    model, fast = make(), make(time_scale=3.0)
    numbers = []
    for _ in range(60):
        numbers.append(nearest(displayed(model), IMAGES))
        model.step(1 / 60)
        fast.step(1 / 60)
    assert numbers == [n * RATE // 60 for n in range(60)]
    assert nearest(displayed(fast), IMAGES) == 3 * 60 * RATE // 60 % COUNT
    fast._params.change("time_scale", 0.0)
    before = displayed(fast)
    fast.step(1.0)
    np.testing.assert_array_equal(displayed(fast), before)


def test_images_have_the_duration_in_the_file(tmp_path: Path) -> None:
    with av.open(str(tmp_path / "uneven.mp4"), "w") as container:
        stream: Any = container.add_stream("libx264", rate=10)
        stream.width, stream.height = COLUMNS, ROWS
        for time_, image in zip((0, 1, 5, 6), IMAGES, strict=False):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts = time_
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    clip = Clip(tmp_path / "uneven.mp4")
    assert clip.starts == pytest.approx([0.0, 0.1, 0.5, 0.6])
    assert [clip.number_at(t) for t in (0.0, 0.1, 0.45, 0.5, 0.6)] == [0, 1, 1, 2, 3]
    assert clip.number_at(clip.duration) == 0


def test_the_same_bits_from_every_start(films: Path) -> None:
    for name in ("a.mp4", "a.webm", "a.gif"):
        clip = Clip(films / name)
        whole = list(clip.frames(0))
        assert len(whole) == COUNT
        for first in (1, 5, 6, 7, 12, 13, COUNT - 1):
            for ours, theirs in zip(clip.frames(first), whole[first:], strict=True):
                np.testing.assert_array_equal(ours, theirs, err_msg=f"{name} from {first}")


def test_images_of_an_animation_depend_on_the_previous_ones(tmp_path: Path) -> None:
    drawn = []
    for number in range(8):
        image = np.full((ROWS, COLUMNS, 3), 30, np.uint8)
        image[4:8, 3 * number : 3 * number + 3] = 220  # the file has only the changes
        drawn.append(Image.fromarray(image))
    drawn[0].save(tmp_path / "x.gif", save_all=True, append_images=drawn[1:], duration=100, loop=0)
    clip = Clip(tmp_path / "x.gif")
    assert clip.duration == pytest.approx(0.8)
    for first in range(8):
        np.testing.assert_array_equal(next(clip.frames(first)), np.asarray(drawn[first]))


def test_a_seek_does_not_read_from_the_start(films: Path) -> None:
    clip = Clip(films / "a.mp4")
    clip.count  # noqa: B018  reads the file once
    decoded = []
    real = clip._decoded
    clip._decoded = lambda time: (decoded.append(frame) or frame for frame in real(time))  # type: ignore[method-assign]
    next(clip.frames(COUNT - 1))
    assert 1 <= len(decoded) <= 14  # two groups of 6, and those that the decoder reads ahead


def test_width_resizes(make: Make) -> None:
    model = make(width=16)
    assert model.outputs()["planes"].shape == (1, 3, 12, 16)
    assert nearest(displayed(model), IMAGES) == 0
    assert Video.output_specs(model._params)["pixels"].shape == (12, 16, 3)


def test_it_agrees_with_its_reference(make: Make, films: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.mp4"
    file.write_bytes((films / "a.mp4").read_bytes())
    model = make(file)
    model.step(0.7)
    assert all(c.holds for c in model.compare_with_reference())
    film(file, IMAGES[::-1], RATE)  # another video in the file than on the GPU
    assert not any(c.holds for c in model.compare_with_reference())


# rewinding ----------------------------------------------------------------------------------------------------------


def test_reset_and_step_back_give_the_same_bits(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    for cached_bytes in (screen.CACHED_BYTES, BYTES):  # all images stay on the GPU, or one
        monkeypatch.setattr(screen, "CACHED_BYTES", cached_bytes)
        model = make()
        first = displayed(model)
        model.step(0.9)
        numbers = model.scalar_state()
        model.step(0.35)
        later = displayed(model)
        model.step(0.5)
        assert not np.array_equal(displayed(model), later)
        model.load_scalar_state(numbers)
        model.step(0.35)
        np.testing.assert_array_equal(displayed(model), later)
        model.reset()
        np.testing.assert_array_equal(displayed(model), first)
        assert model.scalar_state() == {"time": 0.0}


def test_two_runs_give_the_same_bits(make: Make) -> None:
    runs = []
    for _ in range(2):
        model = make("a.webm", time_scale=1.7)
        runs.append([displayed(model) for _ in range(30) if model.step(1 / 60) is None])
    np.testing.assert_array_equal(runs[0], runs[1])


# uploads ------------------------------------------------------------------------------------------------------------


def test_each_image_is_uploaded_once_and_not_counted_as_geometry(make: Make, steady: Gpu) -> None:
    before = steady.meter.read()
    model = make()
    for _ in range(3 * COUNT):
        model.step(1 / RATE)
    after = steady.meter.read()
    assert after["image"]["host_to_device"] - before["image"]["host_to_device"] == COUNT * BYTES
    assert after["geometry"] == before["geometry"]
    quick = make(time_scale=3.0)
    for _ in range(5):
        quick.step(1 / RATE)
    assert set(quick._plans) == set(range(16))  # including skipped ones: nothing is decoded again
    model._reader._thread.join(20)
    assert not model._reader._thread.is_alive()  # it has nothing left to do


def test_a_video_larger_than_the_cache_is_uploaded_again(
    make: Make, steady: Gpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "CACHED_BYTES", COUNT * BYTES - 1)
    model = make()
    before = steady.meter.read()
    for number in range(1, 2 * COUNT + 1):
        model.step(1 / RATE)
        assert nearest(displayed(model), IMAGES) == number % COUNT
        assert len(model._plans) == 1
    moved = steady.meter.read()["image"]["host_to_device"] - before["image"]["host_to_device"]
    assert moved == 2 * COUNT * BYTES


def test_an_upload_does_not_split_the_frame(make: Make, steady: Gpu) -> None:
    model = make()
    steady.sync()
    before = steady.meter.submits
    with steady.frames.frame():
        model.step(0.0)  # something is recorded
        model.step(1 / RATE)
    assert steady.meter.submits == before + 1
    assert nearest(displayed(model), IMAGES) == 1


# a window does not wait ---------------------------------------------------------------------------------------------


def test_a_window_shows_the_last_image_until_the_next_is_read(
    slow: Callable[[int], tuple[Slow, Screen]], steady: Gpu
) -> None:
    footage, shown = slow(8)
    steady.frames.live = True
    shown.advance(1.0)
    assert value(shown) == 0
    footage.let(1)
    arrived(shown, 1)
    shown.advance(1.0)  # image 2 is due, 1 is there
    assert value(shown) == 1
    footage.let(2)
    arrived(shown, 2)
    shown.advance(1.0)
    assert value(shown) == 3


def test_a_headless_frame_waits(slow: Callable[[int], tuple[Slow, Screen]], steady: Gpu) -> None:
    footage, shown = slow(8)
    late = threading.Timer(0.3, footage.let, (2,))
    late.start()
    began = time.perf_counter()
    shown.advance(2.0)
    assert value(shown) == 2
    assert time.perf_counter() - began > 0.2
    late.join()


def test_a_jump_in_time_waits_in_a_window_too(slow: Callable[[int], tuple[Slow, Screen]], steady: Gpu) -> None:
    footage, shown = slow(100)
    steady.frames.live = True
    late = threading.Timer(0.3, footage.let, (100,))
    late.start()
    shown.load_scalar_state({"time": 60.0})
    shown.advance(0.0)
    assert value(shown) == 60
    assert footage.begun == [0, 60]
    late.join()


def test_the_steps_from_a_snapshot_to_the_requested_frame_wait_too(
    slow: Callable[[int], tuple[Slow, Screen]], steady: Gpu
) -> None:
    footage, shown = slow(100)
    steady.frames.live = True
    footage.let(2)
    shown.load_scalar_state({"time": 60.0})
    shown.advance(0.0)
    for last in (61, 62):
        late = threading.Timer(0.2, footage.let, (1,))
        late.start()
        shown.advance(1.0)
        assert value(shown) == last
        late.join()


def test_a_window_that_is_far_behind_skips_to_the_current_image(
    slow: Callable[[int], tuple[Slow, Screen]], steady: Gpu
) -> None:
    footage, shown = slow(500)
    steady.frames.live = True
    shown.advance(WITHIN_REACH + 10.0)
    for _ in range(50):  # it seeks once, not repeatedly
        shown.advance(1.0)
    assert value(shown) == 0
    footage.let(3)
    arrived(shown, 2)  # one was image 1, which is no longer requested
    shown.advance(0.0)
    assert value(shown) == WITHIN_REACH + 11
    assert footage.begun == [0, WITHIN_REACH + 10]


def test_read_ahead_is_limited_by_the_buffer() -> None:
    footage = Slow(1000)
    reader = Reader(footage)
    footage.let(1000)
    time.sleep(0.2)
    assert len(reader._ready) == reader._room == 16
    assert [number for number, _ in reader.take(20, wait=True)] == list(range(21))
    reader.close()
    reader.close()
    assert not reader._thread.is_alive()


# invalid files ------------------------------------------------------------------------------------------------------


def test_an_invalid_video_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video at all")
    with pytest.raises(InputError, match=r"text.mp4 cannot be read as a video: Invalid data"):
        Clip(tmp_path / "text.mp4")
    (tmp_path / "empty.mp4").write_bytes(b"")
    with pytest.raises(InputError, match=r"empty.mp4 cannot be read as a video"):
        Clip(tmp_path / "empty.mp4")
    with av.open(str(tmp_path / "sound.mp4"), "w") as container:
        stream: Any = container.add_stream("aac", rate=44100)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 4096), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 44100
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match=r"sound.mp4 has no video stream"):
        Clip(tmp_path / "sound.mp4")


@pytest.mark.parametrize(
    "text", ["ffconcat version 1.0\nfile {}\n", "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:2,\n{}\n#EXT-X-ENDLIST\n"]
)
def test_a_list_of_other_files_is_no_video(make: Make, films: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "secret.mp4").write_bytes((films / "a.mp4").read_bytes())
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "inside.mp4").write_bytes((films / "a.mp4").read_bytes())
    for name in ("inside.mp4", "../secret.mp4", str(tmp_path / "secret.mp4")):
        (folder / "list.mp4").write_text(text.format(name))
        with pytest.raises(InputError, match=r"list.mp4 cannot be read as a video"):
            make(folder / "list.mp4")


@pytest.mark.parametrize("name", ["a.mp4", "a.webm"])
def test_a_truncated_file_is_reported_immediately(make: Make, tmp_path: Path, name: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (COUNT, ROWS, COLUMNS, 3)).astype(np.uint8)
    whole = film(tmp_path / name, noise, RATE).read_bytes()
    (tmp_path / name).write_bytes(whole[: len(whole) * 7 // 10])
    with pytest.raises(InputError, match=rf"{name} ends early: [01]\.\d+ s of 2.00 s can be read"):
        make(tmp_path / name)


def test_a_size_that_no_video_has_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    data = bytearray(film(tmp_path / "large.gif", frames(2)).read_bytes())
    struct.pack_into("<HH", data, 6, 16_000, 16_000)
    (tmp_path / "large.gif").write_bytes(data)
    with pytest.raises(InputError, match=r"large.gif has 16,000 x 16,000 pixels; up to 33,554,432 \(8K\) are read"):
        Clip(tmp_path / "large.gif")


def test_a_frame_larger_than_its_container_says_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = film(tmp_path / "a.webm", frames(2)).read_bytes()
    assert data.count(b"\xb0\x81 \xba\x81\x18") == 1  # 32 x 24
    (tmp_path / "a.webm").write_bytes(data.replace(b"\xb0\x81 \xba\x81\x18", b"\xb0\x81\x02\xba\x81\x02"))
    monkeypatch.setattr(clip, "MOST_PIXELS", 10)  # of any size the decoder takes at least 128 x 128 more
    with pytest.raises(InputError, match=r"a.webm (has 32 x 24 pixels|is damaged)"):
        Clip(tmp_path / "a.webm")


def test_titles_in_any_encoding_are_passed_over(tmp_path: Path) -> None:
    data = film(tmp_path / "a.mp4", frames(2)).read_bytes()
    assert data.count(b"Lavf") == 1
    (tmp_path / "a.mp4").write_bytes(data.replace(b"Lavf", b"\xacavf"))
    assert Clip(tmp_path / "a.mp4").count == 2


def test_damage_in_the_middle_is_reported_when_it_is_reached(make: Make, films: Path, tmp_path: Path) -> None:
    data = bytearray((films / "a.mp4").read_bytes())
    start = data.index(b"mdat")
    middle = start + (len(data) - start) * 2 // 3
    data[middle : middle + 300] = b"\xff" * 300
    (tmp_path / "hurt.mp4").write_bytes(data)
    model = make(tmp_path / "hurt.mp4")
    with pytest.raises(InputError, match=r"hurt.mp4 (is damaged|ends early)"):
        for _ in range(COUNT):
            model.step(1 / RATE)


def test_an_error_of_the_thread_reaches_the_step(steady: Gpu) -> None:
    class Broken(Slow):
        def frames(self, first: int) -> Generator[np.ndarray, None, None]:
            yield np.zeros((2, 3, 3), np.uint8)
            raise RuntimeError("the disk is gone")

    shown = Screen("broken", Broken(4), {}, 0)
    with pytest.raises(InputError, match=r"the disk is gone"):
        shown.advance(1.0)
    shown.close()
