"""`render` writes geometry, by the suffix of the file."""

from __future__ import annotations

import csv

import av
import numpy as np
import OpenEXR
import pytest
import trimesh

import vertigrad as vg
from vertigrad.scene.packaged import scene_path

SMALL = ("--size", "64x48", "--frames", "3")


def test_geometry_is_that_of_the_last_frame(vertigrad, tmp_path) -> None:
    small = ("--set", "galaxy.count=64")
    outcome = vertigrad("render", "nbody", *SMALL, *small, "-o", tmp_path / "a.ply", "--require-zero-copy")
    assert (outcome.code, outcome.messages) == (0, [])
    with vg.Scene.load("nbody", sets=["galaxy.count=64"]) as scene:
        scene.step(3)
        expected = scene.outputs["galaxy.star_position"].numpy()
    assert np.array_equal(trimesh.load(tmp_path / "a.ply", process=False).vertices.astype(np.float32), expected)


def test_a_number_in_the_name_writes_every_frame(vertigrad, tmp_path) -> None:
    small = ("--set", "galaxy.count=64")
    assert vertigrad("render", "nbody", *SMALL, *small, "-o", tmp_path / "a_%02d.glb").code == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["a_00.glb", "a_01.glb", "a_02.glb"]
    (first,), (last,) = (trimesh.load_scene(tmp_path / names[i]).geometry.values() for i in (0, 2))
    assert 0.0 < np.abs(first.vertices - last.vertices).max() < 1.0


@pytest.mark.turns(2)
def test_only_the_named_layers_are_written(vertigrad, tmp_path) -> None:
    small = ("--set", "cloth.resolution=16")
    call = ("render", "cloth", *SMALL, *small, "--layer", "cloth")
    assert vertigrad(*call, "-o", tmp_path / "a.ply", "-o", tmp_path / "a.glb", "-o", tmp_path / "a.png").code == 0
    assert list(trimesh.load_scene(tmp_path / "a.glb").geometry) == ["cloth"]
    assert (tmp_path / "a.png").is_file()


def test_exr_with_depth_and_32_bits(vertigrad, tmp_path) -> None:
    options = ("--set", "cloth.resolution=16", "--exr-bits", "32", "--exr-depth", "--transparent")
    assert vertigrad("render", "cloth", *SMALL, *options, "-o", tmp_path / "a_%d.exr", "--range", "1:2").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a_1.exr", "a_2.exr"]
    with OpenEXR.File(str(tmp_path / "a_2.exr")) as file:
        found = {name: channel.pixels for name, channel in file.channels().items()}
    assert {name: (str(pixels.dtype), pixels.shape) for name, pixels in found.items()} == {
        "RGBA": ("float32", (48, 64, 4)),
        "Z": ("float32", (48, 64)),
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "a.ply"), "a .ply holds one layer; name it (cloth, ball), or write a .glb"),
        (("-o", "a.glb", "--layer", "bell"), 'unknown layer "bell"'),
        (("-o", "a.png", "--layer", "cloth"), "--layer: names the layers of a geometry file"),
        (("-o", "a.stl"), ".glb, .splat, .spz, .usd, .usda, .usdc, not as .stl"),
        (("-o", "file/a.ply"), "cannot be written"),
        (("-o", "a.png", "--codec", "h265"), "--fps, --codec, --video-quality: are of videos"),
        (("-o", "a.png", "--exr-depth"), "--exr-bits, --exr-depth: are of EXR files"),
        (("-o", "a.exr", "--exr-bits", "8"), "8 bits; the floats of an EXR image have 16 or 32"),
    ],
)
def test_invalid_options_are_reported_before_drawing(
    vertigrad, tmp_path, monkeypatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    outcome = vertigrad("render", "cloth", "--set", "cloth.resolution=16", *options)
    assert outcome.code == 2 and message in outcome.messages[0]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# diagnostics and watches ----------------------------------------------------------------------------------------------

SMALL_NBODY = ("--set", "galaxy.count=64")


def test_both_kinds_of_table_have_the_same_columns(vertigrad, tmp_path) -> None:
    watches = ("--watch", "galaxy.star_position:max", "--watch", "galaxy.star_position")
    for name in ("a.csv", "a.npz"):
        options = (*watches, "--diagnostics", tmp_path / name, "-o", tmp_path / "a.png", "-o", tmp_path / "a_%d.ply")
        assert vertigrad("render", "nbody", *SMALL, *SMALL_NBODY, *options).code == 0
    rows = list(csv.DictReader((tmp_path / "a.csv").open(encoding="utf-8")))
    with np.load(tmp_path / "a.npz") as file:
        columns = dict(file)
    assert list(columns) == list(rows[0]) and len(rows) == 3
    for name, column in columns.items():
        assert [float(row[name]) for row in rows] == list(column)
    for frame in range(3):
        positions = trimesh.load(tmp_path / f"a_{frame}.ply", process=False).vertices
        assert columns["max of galaxy.star_position"][frame] == np.float32(positions.max())
        assert columns["mean of galaxy.star_position"][frame] == pytest.approx(positions.mean(), abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--diagnostics", "a.txt"), "measurements are written as .csv or .npz, not as .txt"),
        (("--watch", "galaxy.star_position"), "--watch: is a column of the table that --diagnostics writes"),
        (("--diagnostics", "a.csv", "--watch", "galaxy.position:most"), 'unknown statistic "most"'),
        (("--diagnostics", "a.csv", "--watch", "galaxy.positron"), "galaxy.positron"),
    ],
)
def test_measurements_that_are_rejected(
    vertigrad, tmp_path, monkeypatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = vertigrad("render", "nbody", *SMALL, *SMALL_NBODY, "-o", "a.png", *options)
    assert outcome.code == 2 and message in outcome.messages[0]
    assert not (tmp_path / "a.png").exists()


# videos ---------------------------------------------------------------------------------------------------------------


def test_a_range_of_frames_is_written(vertigrad, tmp_path) -> None:
    call = ("render", "nbody", "--size", "64x48", *SMALL_NBODY)
    files = ("-o", tmp_path / "a.mp4", "-o", tmp_path / "a_%d.png", "-o", tmp_path / "a_%d.ply")
    outcome = vertigrad(*call, "--range", "2:5", *files, "--fps", 30, "--codec", "h264", "--video-quality", 90)
    assert outcome.code == 0 and ": 4 frames of" in outcome.out
    with av.open(str(tmp_path / "a.mp4")) as video:
        assert video.streams.video[0].average_rate == 30
        assert sum(1 for _ in video.decode(video=0)) == 2
    assert sorted(path.name for path in tmp_path.glob("*.png")) == [f"a_{n}.png" for n in (2, 3, 4, 5)]
    assert len(list(tmp_path.glob("*.ply"))) == 4
    assert vertigrad(*call, "--frames", 6, "-o", tmp_path / "b_%d.png").code == 0
    assert (tmp_path / "a_5.png").read_bytes() == (tmp_path / "b_5.png").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--range", "5:2"), "--range 5:2: expected FIRST:LAST"),
        (("--range", "now"), "--range now: expected FIRST:LAST"),
        (("--range", "0:9", "--frames", "5"), "there is no frame 9 in a run of --frames 5"),
        (("--fps", "nan"), "--fps nan: expected a finite number"),
        (("--codec", "mpeg1"), 'unknown codec of .mp4 "mpeg1"'),
        (("--video-quality", "200"), "quality 200; expected a number from 1 to 100"),
    ],
)
def test_options_of_videos_that_do_not_fit(vertigrad, tmp_path, options: tuple[str, ...], message: str) -> None:
    outcome = vertigrad("render", "nbody", *SMALL_NBODY, "-o", tmp_path / "a.mp4", "--size", "64x48", *options)
    assert outcome.code == 2 and message in outcome.messages[0]


def test_render_follows_the_camera_keyframes_of_a_scene(vertigrad, tmp_path) -> None:
    text = scene_path("nbody").read_text()
    views = {1: "[0, -12, 26]", 3: "[26, -12, 0]"}
    tables = "".join(f"\n[camera.keyframes.{n}]\nposition = {at}\ntarget = [0, 0, 0]\n" for n, at in views.items())
    (tmp_path / "a.toml").write_text(text + tables)
    call = ("render", tmp_path / "a.toml", *SMALL, *SMALL_NBODY)
    assert vertigrad(*call, "-o", tmp_path / "a_%d.png").code == 0
    for number, at in ((0, views[1]), (2, views[3])):  # the first image is of frame 1
        camera = f"{at.strip('[]')};0,0,0"
        assert vertigrad(*call, "-o", tmp_path / "b_%d.png", "--camera", camera).code == 0
        assert (tmp_path / f"a_{number}.png").read_bytes() == (tmp_path / f"b_{number}.png").read_bytes()
    assert (tmp_path / "b_0.png").read_bytes() != (tmp_path / "a_0.png").read_bytes()
