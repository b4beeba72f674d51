"""Videos and animations: rate, range, codec and quality, as other programs read them."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image, ImageSequence

from vertigrad.errors import InputError
from vertigrad.headless.outputs import USUAL, open_output, require_output
from vertigrad.headless.video import CODECS, FORMATS, VideoOptions, is_shown

SIZE = (64, 48)
RANDOM = np.random.default_rng(0)
GRADIENT = np.stack(np.meshgrid(np.linspace(0, 255, 64), np.linspace(0, 255, 48)), axis=-1)


def numbered(frame: int) -> np.ndarray:
    """A gradient of many colors with a bar whose position is the frame."""
    pixels = np.full((48, 64, 4), 255, np.uint8)
    pixels[..., :2] = GRADIENT
    pixels[..., 2] = 4 * frame
    pixels[:, 2 * frame : 2 * frame + 4, :3] = 255
    return pixels


def write(path: Path, options: VideoOptions = USUAL, frames: int = 24, transparent: bool = False) -> None:
    output = open_output(path, SIZE, transparent, options)
    for frame in range(frames):
        if output.wants(frame, frames - 1):
            output.put(frame, numbered(frame))
    output.close()


def play(path: Path) -> list[np.ndarray]:
    if path.suffix == ".webp":  # which FFmpeg does not read
        with Image.open(path) as image:
            return [np.asarray(one.convert("RGB")).astype(int) for one in ImageSequence.Iterator(image)]
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]


def bars(frames: list[np.ndarray]) -> list[int]:
    """The number of each frame, by the position of its bar."""
    whiteness = np.array([frame.min(axis=2).mean(axis=0) for frame in frames])
    sums = np.apply_along_axis(lambda row: np.convolve(row, np.ones(4), "valid"), 1, whiteness)
    return [int(position) // 2 for position in sums.argmax(axis=1)]


@pytest.mark.parametrize(("suffix", "codec"), [(suffix, codec) for suffix in FORMATS for codec in FORMATS[suffix]])
def test_every_codec_of_every_format_is_read_back(tmp_path: Path, suffix: str, codec: str) -> None:
    path = tmp_path / f"a{suffix}"
    write(path, VideoOptions(30.0, codec))
    with av.open(str(path)) if codec != "webp" else nullcontext() as container:
        names = {"h265": "hevc", "av1": "libdav1d"}
        assert container is None or container.streams.video[0].codec_context.name == names.get(codec, codec)
    frames = play(path)
    assert len(frames) == 12 and bars(frames) == list(range(0, 24, 2)), "every other frame of the run"
    error = np.mean([np.abs(frame - numbered(2 * i)[..., :3]).mean() for i, frame in enumerate(frames)])
    assert error < (4.0 if suffix == ".gif" else 10.0)


@pytest.mark.parametrize(("suffix", "usual"), [(".gif", 25), (".webp", 30)])
def test_an_animation_lasts_as_long_as_the_run(tmp_path: Path, suffix: str, usual: int) -> None:
    for rate in (0, 20, 12.5):
        path = tmp_path / f"{rate}{suffix}"
        write(path, VideoOptions(rate), frames=60 if suffix == ".webp" else 24)
        with Image.open(path) as image:
            durations = []
            for frame in range(image.n_frames):
                image.seek(frame)
                image.load()
                durations.append(image.info["duration"])
            assert image.info["loop"] == 0, "it repeats"
        assert np.mean(durations[:-1]) == pytest.approx(1000 / (rate or usual), abs=2.0)


def test_all_frames_of_fast_videos_are_shown() -> None:
    assert [n for n in range(12) if is_shown(n, 60)] == list(range(12)) == [n for n in range(12) if is_shown(n, 120)]
    assert [n for n in range(13) if is_shown(n, 24)] == [0, 3, 5, 8, 10]
    for rate in (1, 7, 10, 23.976, 24, 25, 29.97, 48, 50, 59):
        assert sum(is_shown(n, rate) for n in range(600)) == pytest.approx(10 * rate, abs=1)


@pytest.mark.parametrize("name", ["a.mp4", "a.webm", "a.gif", "a.webp"])
def test_quality_is_paid_for_in_bytes(tmp_path: Path, name: str) -> None:
    sizes, errors = [], []
    for quality in (5, 95):
        write(tmp_path / name, VideoOptions(quality=quality))
        sizes.append((tmp_path / name).stat().st_size)
        errors.append(np.abs(play(tmp_path / name)[0] - numbered(0)[..., :3]).mean())
    assert sizes[0] < sizes[1] and errors[0] > errors[1]


def test_an_animation_in_webp_may_have_alpha(tmp_path: Path) -> None:
    output = open_output(tmp_path / "a.webp", SIZE, True, VideoOptions(30.0, quality=80))
    for frame in (0, 1):
        holed = numbered(20 * frame)
        holed[16:32, 20:44, 3] = 0
        output.put(frame, holed)
    output.close()
    with Image.open(tmp_path / "a.webp") as image:
        alpha = np.asarray(image.convert("RGBA"))[..., 3]
    assert alpha[:14].min() == 255 and alpha[17:31, 21:43].max() == 0


@pytest.mark.parametrize(
    ("name", "options", "size", "transparent", "message"),
    [
        ("a.mp4", VideoOptions(codec="vp9"), SIZE, False, 'unknown codec of .mp4 "vp9"; known: av1, h264, h265'),
        ("a.mp4", VideoOptions(quality=101), SIZE, False, "quality 101; expected a number from 1 to 100"),
        ("a.mp4", VideoOptions(-1.0), SIZE, False, "-1 frames per second; expected a number above 0"),
        ("a.gif", VideoOptions(60.0), SIZE, False, "a GIF shows at most 50 frames per second, not 60"),
        ("a.webm", VideoOptions(), (63, 48), False, "even width and height, got 63x48"),
        ("a.webp", VideoOptions(), (16385, 48), False, "at most 16384 pixels per side"),
        ("a.gif", VideoOptions(), SIZE, True, "a video has no alpha; transparent images are written as .png and .webp"),
    ],
)
def test_invalid_video_options(
    tmp_path: Path, name: str, options: VideoOptions, size: tuple[int, int], transparent: bool, message: str
) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        require_output(tmp_path / name, size, transparent, options)
    require_output(tmp_path / "a.gif", (63, 47))


def test_a_missing_encoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CODECS, "h265", CODECS["h265"]._replace(encoder="libmissing"))
    with pytest.raises(InputError, match="this PyAV has no encoder libmissing for h265; choose another codec"):
        open_output(tmp_path / "a.mp4", SIZE, options=VideoOptions(codec="h265"))


def test_a_run_of_no_images_leaves_no_error(tmp_path: Path) -> None:
    for suffix in FORMATS:
        open_output(tmp_path / f"a{suffix}", SIZE).close()


@pytest.mark.parametrize("suffix", [".mp4", ".webm", ".gif", ".webp"])
def test_a_video_without_an_image_leaves_no_file(tmp_path, suffix):
    open_output(tmp_path / f"x{suffix}", (32, 32)).close()
    assert list(tmp_path.iterdir()) == []


def test_alpha_is_removed() -> None:
    from vertigrad.headless.offscreen import without_alpha

    image = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    found = without_alpha(image)
    assert np.array_equal(found, image[..., :3])
    assert found.flags.c_contiguous and not np.shares_memory(found, image)
