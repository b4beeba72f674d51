"""`Scene` as an object of a script, and `show`."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import onnx
import pytest
from PIL import Image

import vertigrad as vg
from vertigrad import resources
from vertigrad.errors import InputError, ParameterError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.headless import render
from vertigrad.onnx_import import Network
from vertigrad.scene.packaged import scene_path
from vertigrad.session import STEP, Session

SIZE = (96, 64)
SMALL = ["galaxy.count=256"]


def test_a_scene_steps_and_draws_like_the_program(steady: Gpu, tmp_path: Path) -> None:
    with Session(steady, scene_path("nbody"), SMALL) as session:
        render(session, 3, SIZE, [tmp_path / "a.png"])
        expected = session.stage.instances["galaxy"].outputs["position"].numpy()
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        scene.step(3)
        assert scene.time == pytest.approx(3 * STEP)
        assert np.array_equal(scene.outputs["galaxy.position"].numpy(), expected)
        with Image.open(tmp_path / "a.png") as image:
            assert np.array_equal(np.asarray(image), scene.render(SIZE))
        scene.reset()
        assert scene.time == 0.0
        assert not np.array_equal(scene.outputs["galaxy.position"].numpy(), expected)


def test_parameters_are_set_by_their_paths(steady: Gpu) -> None:
    with vg.Scene.load("nbody", sets=SMALL, seed=3) as scene:
        scene.set({"galaxy.softening": 0.2, "models.galaxy.count": 512, "view.exposure": 2.0})
        found = scene.parameters
        assert found["models.galaxy.softening"] == pytest.approx(0.2)
        assert (found["models.galaxy.count"], found["view.exposure"]) == (512, 2.0)
        assert len(scene.outputs["galaxy.position"].numpy()) == 512
        with pytest.raises(ParameterError, match="softening"):
            scene.set({"galaxy.softening": -1.0, "view.exposure": 3.0})
        with pytest.raises(InputError, match="galaxi"):
            scene.set({"galaxi.softening": 0.1})
        assert scene.parameters == found


def test_an_invalid_scene(steady: Gpu, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nbody"):
        vg.Scene.load("nbodi")
    (tmp_path / "a.toml").write_text("version = 1")
    with pytest.raises(SceneError, match="needs a model"):
        vg.Scene.load(tmp_path / "a.toml")


class Mesh:
    """A mesh with the attributes of trimesh."""

    vertices = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
    faces = np.array([[0, 1, 2]])


@pytest.mark.parametrize(
    ("thing", "layer"),
    [
        (np.random.default_rng(0).normal(size=(20, 3)), "points"),
        (np.random.default_rng(0).normal(size=(20, 2)), "points"),
        (np.zeros((8, 9, 3), np.uint8) + 200, "image"),
        (np.full((8, 9, 4), 0.5), "image"),
        (np.random.default_rng(0).random((8, 9, 3)), "image"),
        (np.random.default_rng(0).normal(size=(8, 9, 3)), "surface"),
        (np.random.default_rng(0).random((8, 9, 10)), "volume"),
        (np.random.default_rng(0).random((8, 9)), "image"),
        (np.random.default_rng(0).normal(size=(4, 4, 4, 3)), "streamlines"),
        (Mesh(), "surface"),
    ],
)
def test_show_draws_arrays_and_meshes(steady: Gpu, thing, layer: str) -> None:
    with vg.show(thing, offscreen=True) as viewer:
        assert set(viewer.session.stage.layers) == {layer}
        assert viewer.image(SIZE).std() > 1


def test_show_takes_tensors_and_scenes(steady: Gpu) -> None:
    with (
        vg.Tensor.from_numpy(np.eye(3, dtype=np.float32)) as tensor,
        vg.show(tensor, offscreen=True, size=0.3) as viewer,
    ):
        assert viewer.image(SIZE).std() > 1
    sheet = np.random.default_rng(0).random((8, 9, 3)).astype(np.float32)
    with vg.Tensor.from_numpy(sheet) as tensor, vg.show(tensor, offscreen=True) as viewer:
        assert set(viewer.session.stage.layers) == {"surface"}
    with vg.show("nbody", offscreen=True) as scene:
        assert scene.render(SIZE).std() > 1
    with vg.Scene.load("nbody", sets=SMALL) as scene:
        assert vg.show(scene, offscreen=True) is scene
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        assert vg.show(viewer, offscreen=True) is viewer


@pytest.mark.turns(3)
def test_show_takes_networks(steady: Gpu) -> None:
    path = resources.path("assets", "weights", "shells.onnx")
    with vg.show(path, offscreen=True) as scene:
        expected = scene.render(SIZE)
    assert expected.std() > 1
    with Network(path) as network, vg.show(network, offscreen=True) as scene:
        assert np.array_equal(scene.render(SIZE), expected)
    with vg.show(onnx.load(path), offscreen=True) as scene:
        folder = scene.session.source.path.parent
        assert np.array_equal(scene.render(SIZE), expected) and folder.exists()
    del scene
    gc.collect()
    assert not folder.exists()
    with Network(onnx.load(path)) as network, pytest.raises(InputError, match=r"has no file; show its"):
        vg.show(network, offscreen=True)


@pytest.mark.parametrize(
    ("thing", "match"),
    [
        (np.zeros(3), r"an array of shape \(3,\); what can be shown: points \(n, 3\)"),
        (None, r"cannot show None \(NoneType\); what can be shown"),
        ({"a": 1}, "cannot show {'a': 1}"),
    ],
)
def test_show_says_what_it_takes(steady: Gpu, thing, match: str) -> None:
    with pytest.raises(InputError, match=match):
        vg.show(thing, offscreen=True)
