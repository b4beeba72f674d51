"""Point splatting: accumulated points look like drawn ones."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import wgpu

from vertigrad.gpu import Gpu
from vertigrad.memory import State
from vertigrad.renderer import OrbitCamera, Renderer
from vertigrad.renderer.layers import Layer, point_splatting
from vertigrad.renderer.view import View
from vertigrad.tensor import Tensor, f16

CAMERA = OrbitCamera(distance=4.0, yaw=0.3, pitch=0.2)
WALL = np.float32([[[x, y, 0.0] for x in (-0.6, 0.1)] for y in (-0.5, 0.4)])
COUNT = 1500
CASES = {
    "constant": ({}, {"size": 0.006}),
    "scalars": ({"emissive": 1.0}, {"size": 0.006, "color": 1}),
    "range": ({"range": (-0.5, 2.0)}, {"size": 0.004, "color": 1}),
    "rgb": ({"emissive": 0.5}, {"size": 0.006, "color": 3}),
    "sizes": ({"min_pixels": 2.0}, {"size": 0.02}),
    "spheres": ({"min_pixels": 1.0}, {"size": 0.06, "color": 3}),
}


def arrays(values: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    found = {"position": random.normal(size=(COUNT, 3)).astype("f4") * 0.5, **values}
    if "color" in values:
        found["color"] = random.random((COUNT, values["color"])[: 2 if values["color"] > 1 else 1]).astype("f4")
    if values["size"] > 0.01:
        found["size"] = (values["size"] * random.random(COUNT)).astype("f4")
    return found


@pytest.fixture
def both(layer: Callable[..., Layer], render: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Images of the same points, drawn by the rasterizer and by splatting."""

    def draw(style: dict[str, Any], others: tuple[Layer, ...] = (), **values: Any) -> list[np.ndarray]:
        found = []
        for many in (1 << 30, 1):
            monkeypatch.setattr(point_splatting, "MANY", many)
            points = layer("points", style, **values)
            assert points.drawing.reads_depth is (many == 1)
            found.append(render([*others, points], CAMERA).astype(float))
        return found

    return draw


@pytest.mark.parametrize("many", [1, 1 << 30])
@pytest.mark.parametrize("orthographic", [False, True])
def test_spheres_and_spots_as_triangles_are_those_as_quads(layer, render, monkeypatch, many, orthographic):
    """Also large ones near the eye, and in shadow maps: `CORNERS` in common/spheres.wgsl."""
    position = np.random.default_rng(2).normal(size=(300, 3)).astype("f4") * 0.6
    size = np.geomspace(0.002, 0.5, 300, dtype="f4")
    camera = OrbitCamera(distance=2.0, yaw=0.3, pitch=0.2, orthographic=orthographic)
    view = View(shadows=0.8, occlusion=0.8, bloom=0.0)
    monkeypatch.setattr(point_splatting, "MANY", many)
    images = []
    for kinds in ((), ("software",)):
        monkeypatch.setattr(point_splatting, "QUADS", kinds)
        points = layer("points", position=position, size=size, color="#c08040")
        images.append(render([layer("surface", position=WALL), points], camera, view).astype(int))
    difference = np.abs(images[0] - images[1]).max(axis=-1)
    assert images[0].std() > 20.0 and (difference > 2).mean() < 0.002


@pytest.mark.parametrize("case", CASES)
def test_splatted_points_look_like_drawn_ones(both, layer, case):
    """Overlapping points blend in the order of rows when drawn, and in random order when splatted."""
    style, values = CASES[case]
    drawn, added = both(style, (layer("surface", position=WALL),), **arrays(values, np.random.default_rng(3)))
    assert drawn.max() > 100
    assert np.abs(drawn - added).mean() < 0.02 * drawn.mean()
    assert np.percentile(np.abs(drawn - added), 99) <= 10


def test_attributes_are_read_without_a_copy(render, layer, monkeypatch):
    """Every third row of a table with other columns gives the same as a packed copy of these rows."""
    monkeypatch.setattr(point_splatting, "MANY", 1)
    table = np.random.default_rng(5).normal(size=(3 * COUNT + 7, 9)).astype("f4") * 0.4
    rows = slice(5, 5 + 3 * COUNT, 3)
    columns = {"position": slice(1, 4), "color": 6, "size": 8}
    table[:, 8] = np.abs(table[:, 8]) * 0.02
    with Tensor.from_numpy(table) as whole:
        inside = layer("points", {}, **{name: whole[rows, column] for name, column in columns.items()})
        alone = layer("points", {}, **{name: table[rows, column].copy() for name, column in columns.items()})
        assert inside.drawing.reads_depth
        assert np.array_equal(render([inside], CAMERA), render([alone], CAMERA))


def test_rows_that_are_nan_or_behind_the_eye_are_not_drawn(both):
    point = np.random.default_rng(3).normal(size=(COUNT, 3)).astype("f4") * 0.5
    bad = np.float32([[np.nan, 0, 0], [np.inf, 0, 0], [0, 0, 1e30], [3, 3, 40]])
    drawn, added = both({}, position=np.concatenate([point, bad]), size=0.006)
    assert np.abs(drawn - added).mean() < 0.02 * drawn.mean()


def test_any_number_of_bright_points_at_one_position_is_white(layer, render, monkeypatch):
    monkeypatch.setattr(point_splatting, "MANY", 1)
    style = {"emissive": 1.0, "brightness": 1e4}
    for count in (1, 70, 5000):
        points = layer("points", style, position=np.zeros((count, 3), "f4"), size=0.012, color=(1.0, 0.99, 0.98))
        shown = render([points], CAMERA)
        assert shown[58:62, 78:82].min(axis=-1).max() > 250, count


def test_light_is_the_sum_of_the_points(layer, render, monkeypatch):
    """Faint points, each less than half of the smallest representable value, are not lost and not too bright."""
    monkeypatch.setattr(point_splatting, "MANY", 1)

    def light(count: int, brightness: float) -> float:
        point = np.zeros((count, 3), "f4")
        points = layer("points", {"emissive": 1.0, "brightness": brightness}, position=point, size=0.012)
        return float(render([points], CAMERA).astype(float).sum())

    assert light(20_000, 5e-5) == pytest.approx(light(1, 1.0), rel=0.03)


def test_the_same_image_twice_and_in_any_order(layer, render, monkeypatch):
    monkeypatch.setattr(point_splatting, "MANY", 1)
    found = arrays({"size": 0.006, "color": 3}, np.random.default_rng(3))
    first = render([layer("points", {}, **found)], CAMERA)
    assert np.array_equal(render([layer("points", {}, **found)], CAMERA), first)
    turned = {name: value[::-1].copy() if isinstance(value, np.ndarray) else value for name, value in found.items()}
    again = render([layer("points", {}, **turned)], CAMERA).astype(int)
    assert np.abs(again - first).max() <= 2  # the row's index determines its rounding


def test_overlapping_spheres_do_not_flicker(layer, render, monkeypatch):
    """At equal depth, in many workgroups: the order of rows decides, as in the rasterizer."""
    monkeypatch.setattr(point_splatting, "MANY", 1)
    colors = np.random.default_rng(3).random((4 * COUNT, 3)).astype("f4")
    points = layer("points", {}, position=np.zeros((4 * COUNT, 3), "f4"), color=colors, size=0.2)
    first = render([points], CAMERA, size=(40, 30))
    for _ in range(8):
        assert np.array_equal(render([points], CAMERA, size=(40, 30)), first)


def test_a_layer_is_drawn_in_images_of_any_size(layer, render, monkeypatch):
    monkeypatch.setattr(point_splatting, "MANY", 1)
    points = layer("points", {}, **arrays({"size": 0.006}, np.random.default_rng(3)))
    small, large = (render([points], CAMERA, size=size) for size in ((64, 48), (160, 120)))
    assert np.array_equal(render([points], CAMERA, size=(64, 48)), small)
    assert small.max() > 50
    assert large.max() > 100


def test_attributes_that_compute_shaders_cannot_read_are_drawn_by_the_rasterizer(gpu: Gpu, layer, monkeypatch):
    monkeypatch.setattr(point_splatting, "MANY", 1)
    point = np.zeros((4, 3), "f4")
    with Tensor.from_numpy(point) as position, Tensor.from_numpy(np.zeros((4, 4), np.float16)) as color:
        assert color.dtype is f16
        assert not layer("points", {}, position=position, color=color).drawing.reads_depth
        assert layer("points", {}, position=position).drawing.reads_depth
    monkeypatch.undo()
    assert not layer("points", {}, position=point).drawing.reads_depth


def test_memory_is_released(gpu: Gpu, render, monkeypatch):
    monkeypatch.setattr(point_splatting, "MANY", 1)
    from vertigrad.renderer.layers import types

    kind = types()["points"]
    with Tensor.from_numpy(np.zeros((64, 3), "f4")) as position:

        def once() -> int:
            points = kind(gpu, "points", kind.Style())
            points.bind({"position": position})
            render([points], CAMERA)
            points.bind({"position": position})
            render([points], CAMERA)
            points.close()
            gpu.sync()
            return gpu.tracker.live_bytes

        first = once()
        assert once() == first


@pytest.mark.parametrize("orthographic", [False, True])
def test_spheres_out_of_sight_are_not_drawn(layer, render, monkeypatch, orthographic):
    """More than half of them are outside of the image, and none that extends into it is omitted."""
    camera = OrbitCamera(distance=3.0, fov=30.0, orthographic=orthographic)
    point = np.random.default_rng(7).uniform(-1.6, 1.6, (COUNT, 3)).astype("f4")
    shown = []
    for many in (1 << 30, 1):
        monkeypatch.setattr(point_splatting, "MANY", many)
        points = layer("points", {}, position=point, size=0.12)
        shown.append(render([points], camera).astype(int))
    np.testing.assert_allclose(*shown, atol=1)
    assert 0.2 * COUNT < int(points.drawing.splatting._many.numpy()[1]) < 0.6 * COUNT


@pytest.mark.turns(3)
def test_millions_of_points(render, layer):
    """All of them are drawn: a row of points at the end of the list has the right position, and so have the others."""
    count = 3_000_000
    point = np.broadcast_to(np.float32([-0.6, 0.0, 0.0]), (count, 3)).copy()
    point[:, 0] += np.tile(np.linspace(-0.2, 0.2, 1000, dtype=np.float32), count // 1000)
    point[-1000:, 0] += 1.2
    points = layer("points", {"emissive": 1.0, "brightness": 1.0}, position=point, size=0.004)
    assert points.drawing.reads_depth
    shown = render([points], OrbitCamera(distance=4.0)).astype(int).max(axis=-1)
    assert shown[58:62, 40:55].max() > 250
    assert 100 < shown[58:62, 105:120].max() < 250
    assert max(shown[:50].max(), shown[70:].max(), shown[:, 75:85].max()) <= 1


def test_accumulation_buffers_live_until_the_submission(gpu: Gpu, layer, monkeypatch):
    """A layer is closed after drawing, in the same frame: a destroyed buffer would abort the process."""
    monkeypatch.setattr(point_splatting, "MANY", 1)
    points = layer("points", {}, position=np.zeros((64, 3), "f4"), size=0.01)
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT
    target = gpu.create_texture(size=(32, 24, 1), format="rgba8unorm", usage=usage).create_view()
    gpu.wait_idle()
    with gpu.frames.frame():
        Renderer(gpu, "rgba8unorm").draw([points], CAMERA, View(), target, (32, 24))
        summed = points.drawing.splatting
        blocks = [tensor.block for tensor in (summed._is_sphere, summed._spheres, summed._many, summed._sums)]
        points.close()
        gpu.tracker.collect()
        assert [block.state for block in blocks] == [State.LIVE] * 4
        gpu.pool.trim()
    gpu.wait_idle()
    assert [block.state for block in blocks] == [State.FREE] * 4
