"""`render`: frames of a session, without a window."""

import time
from pathlib import Path

import av
import numpy as np
import pytest
import wgpu
from PIL import Image

from vertigrad import resources
from vertigrad.errors import InputError, OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.headless import Offscreen, render
from vertigrad.headless.offscreen import require_drawable
from vertigrad.headless.path_trace import path_trace
from vertigrad.renderer.lighting import Lighting
from vertigrad.session import STEP, Session
from vertigrad.session.commands import Play, SetParameter

from ..session.running import SCENE, Fault, Rising, use_models, written

SIZE = (96, 64)
DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")
SMALL = {  # and fast to run
    "nbody": ["galaxy.count=512", "galaxy.time_scale=30"],
    "neural_field": ["terrain.resolution=24", "terrain.amplitude=0.5", "terrain.frequency=1"],
}


@pytest.fixture
def session(steady: Gpu, tmp_path, monkeypatch):
    use_models(monkeypatch)
    with Session(steady, written(tmp_path, SCENE)) as session:
        yield session


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image).astype(int)


def played(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24").astype(int) for frame in container.decode(video=0)]


def test_a_layer_without_finite_positions_is_reported(
    steady: Gpu, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    scene = """version = 1
[models.data]
type = "array"
file = "{file}"
[layers.points]
type = "lines"
position = "data.values"
"""
    for name, value in (("lost", np.nan), ("there", 0.5)):
        np.save(tmp_path / f"{name}.npy", np.full((8, 3), value, np.float32))
        (tmp_path / f"{name}.toml").write_text(scene.format(file=f"{name}.npy"))
        with Session(steady, tmp_path / f"{name}.toml") as session:
            caplog.clear()
            record = render(session, 2, SIZE, [tmp_path / "a.png"])
            assert record.finish(session)["submits_per_frame"] == 1.0
        warnings = [entry.message for entry in caplog.records if "shows nothing" in entry.message]
        assert warnings == (
            ["layer 'points' shows nothing: no row of its position is finite"] if name == "lost" else []
        )


def test_an_image_on_the_screen_needs_no_finite_position(
    steady: Gpu, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    np.save(tmp_path / "pixels.npy", np.full((8, 8, 3), 0.5, np.float32))
    (tmp_path / "scene.toml").write_text("""version = 1
[models.data]
type = "array"
file = "pixels.npy"
[layers.overlay]
type = "image"
pixels = "data.values"
placement = "front"
""")
    with Session(steady, tmp_path / "scene.toml") as session:
        render(session, 2, SIZE, [tmp_path / "a.png"])
    assert not [entry.message for entry in caplog.records if "shows nothing" in entry.message]


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SMALL)
def test_packaged_scenes_as_images_and_video(steady: Gpu, tmp_path, name):
    last, video = tmp_path / "last.png", tmp_path / "all.mp4"
    with Session(steady, resources.path("scenes", f"{name}.toml"), SMALL[name]) as session:
        record = render(session, 24, SIZE, [last, tmp_path / "f%02d.png", video])
        assert session.time == pytest.approx(24 * STEP)
        report = record.finish(session)
    assert report["frames"] == 24
    assert report["submits_per_frame"] == 1.0
    assert [report["bytes_per_frame"][direction] for direction in DIRECTIONS] == [0, 0, 0]
    assert report["memory"]["leaked_blocks"] == report["memory"]["never_closed"] == 0
    numbered = [pixels(path) for path in sorted(tmp_path.glob("f*.png"))]
    assert [frame_image.shape for frame_image in numbered] == [(64, 96, 3)] * 24
    assert np.array_equal(pixels(last), numbered[-1]), "the last image is that of the last frame"
    assert np.std(numbered[-1]) > 2, "there is something on it"
    assert np.abs(numbered[-1] - numbered[0]).max() > 20, "and it moves"
    frames = played(video)
    assert [frame.shape for frame in frames] == [(64, 96, 3)] * 24
    for frame, frame_image in zip(frames, numbered, strict=True):
        assert np.abs(frame.mean(axis=(0, 1)) - frame_image.mean(axis=(0, 1))).max() < 8
    assert np.abs(frames[-1] - frames[0]).max() > 20


def test_the_same_scene_gives_the_same_images(steady: Gpu, tmp_path):
    for number in (0, 1):
        with Session(steady, resources.path("scenes", "nbody.toml"), SMALL["nbody"]) as session:
            render(session, 8, SIZE, [tmp_path / f"{number}.png"])
    assert np.array_equal(pixels(tmp_path / "0.png"), pixels(tmp_path / "1.png"))


def test_frames_in_which_nothing_changes_are_lit_once(steady: Gpu, tmp_path, monkeypatch):
    """And that in which a slider is moved: the image is that of a scene that begins with the value."""
    lit, moved = [], (0.0, 0.5, 0.0, -0.5)
    record = Lighting.record
    monkeypatch.setattr(Lighting, "record", lambda *args: lit.append(True) or record(*args))
    scene = resources.path("scenes", "shells.toml")

    def move(done: int) -> None:
        if done == 4:
            session.post(SetParameter("models.decoder", "z", moved))

    with Session(steady, scene) as session:
        render(session, 8, SIZE, [tmp_path / "frame_%d.png"], move)
    assert len(lit) == 2
    with Session(steady, scene, [f"decoder.z={list(moved)}"]) as session:
        render(session, 1, SIZE, [tmp_path / "moved.png"])
    first, expected = pixels(tmp_path / "frame_0.png"), pixels(tmp_path / "moved.png")
    assert np.any(first != expected)
    for number in range(8):
        assert np.array_equal(pixels(tmp_path / f"frame_{number}.png"), first if number < 4 else expected), number


def test_only_images_that_are_requested_are_read_back(session, steady: Gpu, tmp_path):
    before = steady.meter.read()["image"]["device_to_host"]
    render(session, 10, SIZE, [tmp_path / "last.png"])
    assert steady.meter.read()["image"]["device_to_host"] - before == 96 * 64 * 4
    assert pixels(tmp_path / "last.png").shape == (64, 96, 3)


def test_a_width_whose_rows_are_padded_on_the_gpu(session, tmp_path):
    render(session, 2, (67, 33), [tmp_path / "last.png"])
    assert pixels(tmp_path / "last.png").shape == (33, 67, 3)
    with Image.open(tmp_path / "last.png") as image:
        assert np.std(np.asarray(image.resize((8, 4)))) > 1


def test_progress_counts_every_frame_once(session, tmp_path):
    progress: list[int] = []
    render(session, 7, SIZE, [tmp_path / "last.png"], progress.append)
    assert progress == [1, 2, 3, 4, 5, 6, 7]


def test_posted_commands_are_executed(session):
    session.post(Play(False))
    session.post(SetParameter("models.row", "height", 2.0))
    render(session, 3, SIZE)
    assert session.time == 0.0
    assert session.parameters()["models.row"].height == 2.0


def test_frames_of_the_warm_up_are_neither_counted_nor_written(session, tmp_path):
    record = render(session, 3, SIZE, [tmp_path / "%d.png"], warm_up=5)
    assert record.frames == 3
    assert session.time == pytest.approx(8 * STEP)
    assert sorted(path.name for path in tmp_path.glob("*.png")) == ["0.png", "1.png", "2.png"]
    report = record.finish(session)
    assert report["submits_per_frame"] == 1.0
    assert report["bytes_per_frame"]["image"]["device_to_host"] == 96 * 64 * 4


def test_gpu_times_are_measured_once_per_frame_and_only_on_request(session, steady: Gpu):
    assert not steady.timer.enabled
    untimed = render(session, 6, SIZE)
    assert untimed.finish(session)["ms_per_frame"]["draw"] is None


def test_frame_times_are_in_milliseconds(session, steady: Gpu):
    begun, worked = time.perf_counter(), time.thread_time()
    record = render(session, 12, SIZE)
    took, worked = 1e3 * (time.perf_counter() - begun), 1e3 * (time.thread_time() - worked)
    times = record.finish(session)["ms_per_frame"]
    assert 0.05 * took < 12 * times["frame"]["mean"] < took
    assert 0.05 * worked < 12 * times["cpu"]["mean"] < worked


@pytest.mark.skipif("not __import__('vertigrad').gpu().timer.available")
def test_timed_frames(session, steady: Gpu):
    record = render(session, 12, SIZE, timed=True)
    assert not steady.timer.enabled, "unchanged"
    assert 4 <= len(record.gpu_times.compute_ms) == len(record.gpu_times.draw_ms) <= 12  # not late times
    times = record.finish(session)["ms_per_frame"]
    passes = {"surfaces", "shading", "layers", "post-process"}
    assert set(times["groups"]) == {"row.step", *passes}
    assert times["compute"]["mean"] == pytest.approx(times["groups"]["row.step"]["mean"])
    assert times["draw"]["mean"] == pytest.approx(sum(times["groups"][name]["mean"] for name in passes))
    assert 0 < times["draw"]["p50"] <= times["draw"]["p95"] <= times["draw"]["p99"]


# errors -------------------------------------------------------------------------------------------------------------


def test_an_error_in_the_middle_ends_the_video_and_writes_no_last_image(session, steady: Gpu, tmp_path, monkeypatch):
    def stop(done: int) -> None:
        if done == 6:
            monkeypatch.setattr(Rising, "fails", Fault("in the seventh frame"))

    with pytest.raises(Fault):
        render(session, 20, SIZE, [tmp_path / "last.png", tmp_path / "all.mp4"], stop)
    assert not (tmp_path / "last.png").exists()
    frames = played(tmp_path / "all.mp4")
    assert 4 <= len(frames) <= 6, "what was drawn can be watched"
    monkeypatch.setattr(Rising, "fails", None)
    steady.wait_idle()
    render(session, 1, SIZE, [tmp_path / "last.png"])
    assert (tmp_path / "last.png").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("name", ["f%d.png", "all.mp4"])
def test_a_disk_that_becomes_full_in_the_middle(session, steady: Gpu, tmp_path, name):
    (tmp_path / name.replace("%d", "3")).symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left"):
        render(session, 10, SIZE, [tmp_path / name])
    steady.wait_idle()
    render(session, 1, SIZE, [tmp_path / "last.png"])
    assert (tmp_path / "last.png").exists(), "the session can go on"


def test_the_second_of_two_files_is_not_writable(session, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        render(session, 3, SIZE, [tmp_path / "a.mp4", tmp_path / "file" / "b.png"])
    assert session.time == 0.0


@pytest.mark.parametrize("size", [(0, 10), (10, 0), (-1, 5), (1 << 20, 10), (10, 1 << 20)])
def test_a_size_that_cannot_be_drawn(session, steady: Gpu, size):
    with pytest.raises(InputError, match=f"{size[0]}x{size[1]} pixels"):
        Offscreen(steady, size)


def test_supersampled_images(session, tmp_path):
    for times in (1, 3):
        render(session, 1, (65, 40), [tmp_path / f"{times}.png"], supersample=times)
    once, often = (np.asarray(Image.open(tmp_path / f"{times}.png")).astype(float) for times in (1, 3))
    assert once.shape == often.shape == (40, 65, 3)
    assert np.abs(once - often).mean() < 8.0
    with pytest.raises(InputError, match="30000x30 pixels"):
        render(session, 1, (10_000, 10), supersample=3)


def test_an_image_too_large_to_be_read_back(steady: Gpu, monkeypatch):
    monkeypatch.setitem(steady.limits, "max-buffer-size", 1 << 20)
    with pytest.raises(InputError, match="1024x1024 pixels takes 4,194,304 bytes"):
        Offscreen(steady, (1024, 1024))
    require_drawable(steady, (65, 2048))  # rows of 260 bytes take 512: exactly the limit
    with pytest.raises(InputError, match="65x2049 pixels takes 1,049,088 bytes"):
        require_drawable(steady, (65, 2049))


@pytest.mark.parametrize("allowed", [0, 1, 3])
def test_too_little_memory_for_the_images(session, steady: Gpu, tmp_path, monkeypatch, allowed):
    create, textures = steady.device.create_texture, []

    def create_texture(**arguments: object) -> object:
        textures.append(arguments)
        if len(textures) > allowed:
            raise wgpu.GPUOutOfMemoryError("not enough memory left")
        return create(**arguments)

    monkeypatch.setattr(steady.device, "create_texture", create_texture)
    with pytest.raises(OutOfMemory, match="too little GPU memory for images of 96x64 pixels"):
        render(session, 2, SIZE, [tmp_path / "last.png"])
    monkeypatch.undo()
    render(session, 2, SIZE, [tmp_path / "last.png"])
    assert pixels(tmp_path / "last.png").shape == (64, 96, 3)


@pytest.mark.parametrize("size", [(1, 1), (3, 2), (500, 1)])
def test_the_smallest_images(session, tmp_path, size):
    render(session, 1, size, [tmp_path / "last.png"])
    assert pixels(tmp_path / "last.png").shape == (size[1], size[0], 3)


def test_models_are_measured_in_every_thirtieth_frame(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    done, measured = [0], []
    monkeypatch.setattr(session, "measure", lambda: measured.append(done[-1]))
    render(session, 61, (16, 16), progress=done.append)
    assert measured == [29, 59]


def center_and_spread(image: np.ndarray) -> tuple[float, float]:
    """The mean row of the light of an image, and the variance of the rows."""
    light = (image.sum(axis=2) / 765.0) ** 2.2
    rows, weight = np.arange(len(light)), light.sum(axis=1) / light.sum()
    center = (weight * rows).sum()
    return center, (weight * (rows - center) ** 2).sum()


@pytest.mark.turns(2)
@pytest.mark.parametrize(("shutter", "traced"), [(1.0, False), (0.5, False), (1.0, True), (0.5, True)])
def test_the_streak_of_a_moving_point_is_its_way_while_the_shutter_is_open(
    steady, tmp_path, monkeypatch, shutter, traced
):
    """One point that rises by 0.6 in each frame; the variance of a streak is a twelfth of its squared length."""
    use_models(monkeypatch)
    view = '[view]\nbackground = "#000000"\nbloom = 0\nvignette = 0\ntone_map = "none"\nsamples = 24\n'
    camera = "[camera]\nposition = [0, 1.5, 6]\ntarget = [0, 1.5, 0]\nfov = 40\n"
    scene = SCENE.replace('color = "row.phase"\nrange = [0, 1]', 'color = "#ffffff"\nemissive = 1\nbrightness = 0.5')
    path = written(tmp_path, scene + view + camera)
    found = []
    for value in (0.0, shutter):
        options = ["row.count=1", f"view.shutter={value}"]
        with Session(steady, path, options) as session:
            session.clock.set_speed(0.6 / STEP)
            file, size = tmp_path / "a.png", (72, 96)
            record = render(session, 3, size, [] if traced else [file], draw=not traced, exposure=value * traced)
            if traced:
                path_trace(session, 48, size, [file], exposure=value)
            assert session.time == pytest.approx(1.8)
            assert session.clock.frame == record.finish(session)["frames"] == 3
        found.append(center_and_spread(pixels(tmp_path / "a.png")))
    (sharp_row, sharp), (row, blurred) = found
    pixel = 2 * 6 * np.tan(np.radians(20)) / 96
    length = 0.6 * shutter / pixel
    assert np.sqrt(12 * (blurred - sharp)) == pytest.approx(length, rel=0.06)
    assert row - sharp_row == pytest.approx(length / 2, abs=0.06 * length)  # it closes at the end of the frame
