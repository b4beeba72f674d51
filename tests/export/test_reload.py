"""Exported data that is loaded into a scene is drawn as before."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.gpu import Gpu

SIZE = (160, 120)
RANDOM = np.random.default_rng(2)
HEAD = "version = 1\n[camera]\nposition = [0.0, 1.0, 5.0]\n[models.it]\n"
HEAD += 'type = "{type}"\nfile = "{file}"\nsize = 0.0\nup = "y"\n'
MESH = '[layers.it]\ntype = "surface"\nposition = "it.position"\nnormal = "it.normal"\nindex = "it.index"\n'
SPLATS = "".join(f'{name} = "it.{name}"\n' for name in ("position", "scale", "rotation", "opacity", "color"))


def image(path: Path, text: str, exported: Path | None = None) -> np.ndarray:
    path.write_text(text)
    with vg.Scene.load(path) as scene:
        if exported is not None:
            scene.export(exported)
        return scene.render(SIZE).astype(int)


@pytest.mark.parametrize("suffix", [".ply", ".obj", ".glb"])
def test_a_mesh(steady: Gpu, tmp_path: Path, suffix: str) -> None:
    exported = tmp_path / f"a{suffix}"
    before = image(tmp_path / "a.toml", HEAD.format(type="mesh", file="assets/data/knot.ply") + MESH, exported)
    after = image(tmp_path / "b.toml", HEAD.format(type="mesh", file=exported.name) + MESH)
    assert before.std() > 10, "something is drawn"
    different = np.abs(after - before).max(axis=-1) > 1
    assert different.mean() < 0.002, "vertices at creases are numbered otherwise, and the center is rounded again"


def test_the_colors_of_a_mesh_in_gltf(steady: Gpu, tmp_path: Path) -> None:
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1).astype(np.float32)
    fan = np.stack([np.zeros(38), np.arange(1, 39), np.arange(2, 40)], axis=1).astype(np.uint32)
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        viewer.camera(position=(0.0, 1.0, 5.0), target=(0.0, 0.0, 0.0))
        flat = np.tile(np.float32([0, 0, 1]), (40, 1))
        disc = viewer.surface("disc", position=ring, index=fan, normal=flat, color=RANDOM.random((40, 3)))
        disc.save(tmp_path / "a.glb")
        before = viewer.image().astype(int)
    text = HEAD.format(type="mesh", file="a.glb") + MESH + 'color = "it.color"\n'
    assert np.abs(image(tmp_path / "b.toml", text) - before).max() <= 2


@pytest.mark.parametrize(
    ("name", "most", "mean"),
    [("a.ply", 1, 0.1), ("a.compressed.ply", 24, 0.6), ("a.spz", 24, 1.2), ("a.splat", 24, 0.6)],
)
def test_splats(steady: Gpu, tmp_path: Path, name: str, most: float, mean: float) -> None:
    """Cropped splats, with harmonics where the format has them; the others differ by the bits that formats save."""
    count = 60
    rows = {
        "position": RANDOM.uniform(-1, 1, (count, 3)),
        "scale": RANDOM.uniform(0.02, 0.2, (count, 3)),
        "rotation": RANDOM.normal(size=(count, 4)),
        "opacity": RANDOM.uniform(0.1, 0.9, count),
        "color": RANDOM.random((count, 3)),
    }
    if name != "a.splat":
        rows["harmonics"] = RANDOM.normal(0.0, 0.2, (count, 24))
    rows["position"][:3] = [[-1, -1, -1], [1, 1, 1], [0, 3, 0]]  # the center is unchanged; the last one is cropped
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        viewer.camera(position=(0.0, 1.0, 5.0), target=(0.0, 0.0, 0.0))
        style = {
            "size": 1.5,
            "opacity_scale": 0.9,
            "min_opacity": 0.2,
            "crop_low": (-9, -9, -9),
            "crop_high": (1, 1, 1),
        }
        viewer.splats("splats", **rows, **style).save(tmp_path / name)
        before = viewer.image().astype(int)
    text = HEAD.format(type="splats", file=name).replace('"y"', '"auto"') + f'[layers.it]\ntype = "splats"\n{SPLATS}'
    if "harmonics" in rows:
        text += 'harmonics = "it.harmonics"\n'
    assert before.std() > 10
    difference = np.abs(image(tmp_path / "b.toml", text) - before)
    assert difference.max() <= most and difference.mean() < mean
