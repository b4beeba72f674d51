"""`render` writes geometry, by the suffix of the file."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import vertigrad as vg

SMALL = ("--size", "64x48", "--frames", "3")


def test_geometry_is_that_of_the_last_frame(vertigrad, tmp_path) -> None:
    small = ("--set", "galaxy.count=64")
    outcome = vertigrad("render", "nbody", *SMALL, *small, "-o", tmp_path / "a.ply", "--require-zero-copy")
    assert (outcome.code, outcome.told) == (0, [])
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


def test_only_the_named_layers_are_written(vertigrad, tmp_path) -> None:
    small = ("--set", "cloth.resolution=16")
    call = ("render", "cloth", *SMALL, *small, "--layer", "cloth")
    assert vertigrad(*call, "-o", tmp_path / "a.ply", "-o", tmp_path / "a.glb", "-o", tmp_path / "a.png").code == 0
    assert list(trimesh.load_scene(tmp_path / "a.glb").geometry) == ["cloth"]
    assert (tmp_path / "a.png").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "a.ply"), "a PLY holds one layer; name it (cloth, ball), or write a .glb"),
        (("-o", "a.glb", "--layer", "bell"), 'unknown layer "bell"'),
        (("-o", "a.png", "--layer", "cloth"), "--layer: names the layers of a geometry file"),
        (("-o", "a.stl"), "images are written as .png, videos as .mp4, and geometry as .ply, .obj, .glb, not as .stl"),
        (("-o", "file/a.ply"), "cannot be written"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_drawn(
    vertigrad, tmp_path, monkeypatch, options: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    outcome = vertigrad("render", "cloth", "--set", "cloth.resolution=16", *options)
    assert outcome.code == 2 and message in outcome.told[0]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
