"""Output files for frames, read back with the libraries that wrote them."""

import os
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.headless import require_output, require_writable
from vertigrad.headless.outputs import open_output
from vertigrad.headless.video import Video, VideoOptions

SIZE = (48, 32)
COLORS = [(200, 40, 30), (30, 180, 60), (40, 60, 220), (128, 128, 128)]


def frame_image(color: tuple[int, int, int]) -> np.ndarray:
    """A plain image with a white upper left corner; alpha is not 255, and must not matter."""
    pixels = np.full((SIZE[1], SIZE[0], 4), (*color, 7), np.uint8)
    pixels[:8, :16, :3] = 255
    return pixels


def write(path: Path, colors=COLORS) -> None:
    output = open_output(path, SIZE)
    for frame, color in enumerate(colors):
        if output.wants(frame, len(colors) - 1):
            output.put(frame, frame_image(color))
    output.close()


def read_png(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        assert image.format == "PNG"
        assert image.mode == "RGB"
        return np.asarray(image)


def test_a_png_has_the_last_image_bit_for_bit(tmp_path):
    write(tmp_path / "out.png")
    assert np.array_equal(read_png(tmp_path / "out.png"), frame_image(COLORS[-1])[:, :, :3])


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("f_%04d.png", ["f_0000.png", "f_0001.png", "f_0002.png", "f_0003.png"]),
        ("f%d.PNG", ["f0.PNG", "f1.PNG", "f2.PNG", "f3.PNG"]),
        ("100%_%2d.png", ["100%_ 0.png", "100%_ 1.png", "100%_ 2.png", "100%_ 3.png"]),
        ("%s%03d.png", ["%s000.png", "%s001.png", "%s002.png", "%s003.png"]),
    ],
)
def test_a_sequence_of_pngs_has_every_image(tmp_path, name, files):
    folder = tmp_path / "50%d off"  # only the file's own name is a pattern
    write(folder / name)
    assert sorted(path.name for path in folder.iterdir()) == files
    for file, color in zip(files, COLORS, strict=True):
        assert np.array_equal(read_png(folder / file), frame_image(color)[:, :, :3])


@pytest.mark.parametrize("name", ["100%done.png", "50%02dark.png", "%.png"])
def test_a_percent_sign_in_a_name_is_literal(tmp_path, name):
    write(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def play(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        (stream,) = container.streams
        assert (stream.codec_context.name, stream.average_rate) == ("h264", 60)
        assert (stream.codec_context.width, stream.codec_context.height) == SIZE
        context = stream.codec_context
        assert (context.colorspace, context.color_primaries, context.color_trc) == (1, 1, 1), "BT.709, in all three"
        frames = [frame for packet in container.demux(stream) for frame in packet.decode()]
        assert {(frame.format.name, int(frame.colorspace), int(frame.color_range)) for frame in frames} == {
            ("yuv420p", 1, 1)
        }, "BT.709, video range"
        return [frame.reformat(format="rgb24", src_colorspace="ITU709").to_ndarray() for frame in frames]


def test_a_video_plays_back_every_image_in_its_colors(tmp_path):
    colors = COLORS * 5
    write(tmp_path / "out.mp4", colors)
    frames = play(tmp_path / "out.mp4")
    assert len(frames) == len(colors)
    for frame, color in zip(frames, colors, strict=True):
        assert np.abs(frame[16:, 24:].astype(int) - color).max() <= 4, "a player sees what was drawn"
        assert frame[2:6, 2:12].min() >= 240


def test_a_video_of_one_frame_and_of_two_pixels(tmp_path):
    write(tmp_path / "one.mp4", COLORS[:1])
    assert len(play(tmp_path / "one.mp4")) == 1
    output = open_output(tmp_path / "tiny.mp4", (2, 2))
    output.put(0, np.zeros((2, 2, 4), np.uint8))
    output.close()
    assert (tmp_path / "tiny.mp4").stat().st_size > 0


# what cannot be written ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.tga", "out", "out.png.jpg", ".png"])
def test_unsupported_file_types_are_rejected(tmp_path, name):
    with pytest.raises(InputError, match=r"written as \.png, videos as \.mp4, \.webm, \.gif, \.webp, and geometry as"):
        require_output(tmp_path / name, SIZE)


@pytest.mark.parametrize("size", [(48, 31), (47, 32), (1, 1)])
def test_a_video_of_odd_size_is_refused_before_anything_is_drawn(tmp_path, size):
    with pytest.raises(InputError, match=f"even width and height, got {size[0]}x{size[1]}"):
        require_output(tmp_path / "out.mp4", size)
    require_output(tmp_path / "out.png", size)


@pytest.mark.parametrize("size", [(16386, 32), (32, 16386)])
def test_a_video_larger_than_the_encoder_takes_is_refused_before_anything_is_drawn(tmp_path, size):
    with pytest.raises(InputError, match=f"at most 16384 pixels per side, got {size[0]}x{size[1]}"):
        require_output(tmp_path / "out.mp4", size)
    require_output(tmp_path / "out.mp4", (16384, 32))
    require_output(tmp_path / "out.png", size)


def test_an_error_of_the_encoder_names_the_file(tmp_path):
    output = Video(tmp_path / "out.mp4", (16386, 32), VideoOptions())
    with pytest.raises(InputError, match=r"out\.mp4: the video cannot be written"):
        output.put(0, np.zeros((32, 16386, 4), np.uint8))
    with pytest.raises(InputError, match=r"out\.mp4: the video cannot be written"):
        output.close()


def test_missing_folders_are_created(tmp_path):
    write(tmp_path / "a" / "b" / "out.png")
    assert (tmp_path / "a" / "b" / "out.png").is_file()


@pytest.mark.parametrize("name", ["out.png", "out_%03d.png", "out.mp4"])
def test_checking_that_a_file_is_writable_creates_nothing(tmp_path, name):
    require_output(tmp_path / name, SIZE)
    assert list(tmp_path.iterdir()) == []


def test_checking_that_a_file_is_writable_does_not_change_it(tmp_path):
    (tmp_path / "report.json").write_text("unchanged")
    require_writable(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text() == "unchanged"


def below_a_file(folder: Path, name: str) -> Path:
    (folder / "file").write_text("")
    return folder / "file" / name


def a_folder(folder: Path, name: str) -> Path:
    (folder / name.replace("%d", "0")).mkdir()
    return folder / name


def with_a_nul(folder: Path, name: str) -> Path:
    return folder / f"a\0{name}"


def too_long(folder: Path, name: str) -> Path:
    return folder / ("x" * 300 + name)


@pytest.mark.parametrize("name", ["out.png", "out%d.png", "out.mp4"])
@pytest.mark.parametrize("location", [below_a_file, a_folder, with_a_nul, too_long])
def test_a_path_that_is_not_writable(tmp_path, location, name):
    path = location(tmp_path, name)
    with pytest.raises(InputError, match="cannot be written"):
        require_output(path, SIZE)
    with pytest.raises(InputError, match="cannot be written"):
        open_output(path, SIZE)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="Permission denied"):
        require_output(tmp_path / "out.png", SIZE)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("name", ["out.png", "out.mp4"])
def test_a_full_disk_is_reported(tmp_path, name):
    (tmp_path / name).symlink_to("/dev/full")
    with pytest.raises(InputError, match=f"{name}: the (image|video) cannot be written .No space left"):
        write(tmp_path / name)
