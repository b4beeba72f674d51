"""Samples: the same whatever the order of work; the tree; what is gathered and what is left out."""

from contextlib import closing

import numpy as np
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.path_trace import PathTracer, gather, untraced
from vertigrad.path_trace import tracer as module
from vertigrad.path_trace.light import around
from vertigrad.path_trace.packing import octahedral
from vertigrad.path_trace.tree import build
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.sky import transmittance
from vertigrad.renderer.view import sun_in_world
from vertigrad.scripting import Scene

from ..renderer import sky_reference

CAMERA = OrbitCamera(distance=4.0, fov=35.0)
RNG = np.random.default_rng(5)


def test_the_image_depends_on_the_seed_and_on_nothing_else(layer, tracer, monkeypatch):
    balls = layer("points", position=RNG.normal(0.0, 0.5, (40, 3)).astype(np.float32), size=0.2)
    smoke = layer("volume", density=RNG.random((4, 4, 4), np.float32))
    images = {}
    for name, seconds, seed in (("whole", 60.0, 1), ("bands", 0.0, 1), ("again", 60.0, 1), ("other", 60.0, 2)):
        monkeypatch.setattr(module, "SUBMISSION", seconds)
        images[name] = tracer([balls, smoke], CAMERA, View(), (20, 20), 3, seed=seed).sums.numpy()
    np.testing.assert_array_equal(images["whole"], images["bands"])
    np.testing.assert_array_equal(images["whole"], images["again"])
    assert (images["whole"] != images["other"]).any(axis=2).mean() > 0.3


def test_an_image_that_is_not_finished_is_the_mean_of_what_is_there(layer, tracer, monkeypatch):
    """A ball that shines everywhere alike: rows with one sample more are as bright as the others."""
    monkeypatch.setattr(module, "SUBMISSION", 0.0)
    ball = layer("points", {"emissive": 1.0, "brightness": 2.0}, position=np.zeros((1, 3), np.float32), size=9.0)
    found = tracer([ball], OrbitCamera(distance=20.0, fov=5.0), View(sun=0.0, sky=0.0), (16, 24), 1)
    found.advance(5)
    assert (found.samples, found.ahead) == (1, module.TILE)
    assert found.done == pytest.approx(1.0 + module.TILE / 24)
    light = found.light()
    assert np.ptp(light[..., 0]) < 0.01 * light.max()
    assert (light[..., 3] == 1.0).all()


@pytest.mark.parametrize("count", [1, 2, 4, 5, 6, 300])
@pytest.mark.parametrize("alike", [False, True])
def test_each_primitive_is_in_one_leaf_inside_all_boxes_above(count, alike):
    centers = np.ones((count, 3), np.float32) if alike else RNG.normal(0.0, 5.0, (count, 3)).astype(np.float32)
    low, high = centers - 0.1, centers + 0.2
    tree = build(low, high)
    low, high, leaves = low[tree.order], high[tree.order], []

    def walk(child: int, box: np.ndarray) -> None:
        if child >> 31:
            first = (child & 0x7FFFFFFF) >> 3
            rows = list(range(first, first + (child & 7)))
            assert (low[rows] >= box[0]).all() and (high[rows] <= box[1]).all()
            leaves.extend(rows)
            return
        for words in tree.nodes[child].reshape(2, 2, 4):
            below = words[:, :3].view(np.float32)
            if not (words[0, 3] >> 31 and words[0, 3] & 7 == 0):
                assert (below[0] >= box[0]).all() and (below[1] <= box[1]).all()
            walk(int(words[0, 3]), below)

    walk(0, np.array([[-np.inf] * 3, [np.inf] * 3]))
    assert sorted(leaves) == list(range(count))
    assert sorted(tree.order) == list(range(count))


def test_normals_survive_their_packing():
    normals = RNG.normal(size=(200, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    across = octahedral(normals).view(np.int16).reshape(-1, 2) / 32767.0
    up = 1.0 - np.abs(across).sum(axis=1)
    folded = np.maximum(-up, 0.0)[:, None]
    found = np.concatenate([across - np.where(across >= 0.0, folded, -folded), up[:, None]], axis=1)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    np.testing.assert_allclose(found, normals, atol=1e-4)


def test_a_layer_without_triangles_is_named(layer):
    ball = layer("points", position=np.zeros((1, 3), np.float32))
    splats = layer("splats", position=np.eye(3, dtype=np.float32))
    found = gather([ball, splats])
    assert len(found.shapes) == 1
    assert found.left_out == [
        "layer 'splats' is not path-traced: it draws splats, which have no triangles, spheres, lines or volume"
    ]
    with pytest.raises(InputError, match="layer 'splats' is not path-traced"):
        gather([splats])


def test_what_of_a_view_is_not_drawn_is_named():
    assert untraced(View()) == []
    assert untraced(View(floor="under", axes=True, edges=0.5)) == [
        "view.axes is not drawn in a path-traced image",
        "view.edges is not drawn in a path-traced image",
    ]
    assert untraced(View(shutter=0.5, aperture=0.1)) == []


def test_the_sky_is_that_of_the_renderer(gpu):
    """Above the horizon, against the NumPy reference of the environment."""
    view = View(environment="sky", sun=2.0, sun_elevation=30.0, sun_azimuth=0.0)
    image = around(gpu, view, CAMERA)
    rows, columns = image.shape[:2]
    for row, column in ((10, 40), (40, 200), (60, 100)):
        latitude, longitude = np.pi * (row + 0.5) / rows, 2.0 * np.pi * ((column + 0.5) / columns - 0.5)
        sine = np.sin(latitude)
        direction = np.array([sine * np.sin(longitude), np.cos(latitude), -sine * np.cos(longitude)])
        sun = sun_in_world(view, CAMERA)
        expected = np.pi * view.sun / np.mean(transmittance(90.0)) * sky_reference.sky(direction, sun)
        np.testing.assert_allclose(image[row, column], expected, rtol=0.04)  # the shader takes few steps


def test_a_scene_of_a_script_writes_the_image(gpu, tmp_path, caplog):
    with Scene.load("nbody", sets=["galaxy.count=16", "layers.stars.size=0.4", "view.shutter=0.5"]) as scene:
        file = scene.path_trace(tmp_path / "a.png", 2, (24, 16), bounces=1)
        again = scene.path_trace(tmp_path / "b.png", 2, (24, 16), bounces=1)
        with pytest.raises(InputError, match="a path-traced image is written as"):
            scene.path_trace(tmp_path / "a.mp4", 1)
        with pytest.raises(InputError, match="bounces: -1"):
            scene.path_trace(tmp_path / "a.png", 1, (8, 8), bounces=-1)
    assert file.read_bytes() == again.read_bytes()
    assert "view.shutter: this path-traced image is of one moment, and has no motion blur" in caplog.messages
    assert np.asarray(Image.open(file)).std() > 1.0


@pytest.mark.turns(3)
def test_rays_are_counted(layer, gpu):
    """A ball that fills the image under a sun: of each path a ray of sight, a shadow, and one that was reflected."""
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=9.0)
    view = View(sun=1.0, sky=0.0, sun_elevation=0.0, sun_azimuth=0.0)
    camera = OrbitCamera(distance=20.0, fov=2.0)
    with closing(PathTracer(gpu, gather([ball]), view, camera, (8, 8), count_rays=True)) as found:
        found.advance(1)
        assert 2.5 < found.light()[..., 0].mean() <= 3.0
