"""Streamlines of analytic fields, their ends, and arrows at the points of a lattice."""

import numpy as np
import pytest

from vertigrad.errors import LayoutError, LimitError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.bounds import Bounds
from vertigrad.renderer.moment import Moment
from vertigrad.tensor import Tensor

CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
BOX = {"samples": "nodes", "low": (-1, -1, -1), "high": (1, 1, 1)}
Z, Y, X = np.meshgrid(*3 * [np.linspace(-1, 1, 9)], indexing="ij")
CIRCLES = np.stack([-Z, 0 * X, X], axis=-1).astype(np.float32)
SADDLE = np.stack([X, 0 * X, -Z], axis=-1).astype(np.float32)


def lines_of(layer):
    """Positions (lines, rows, 3), values and widths, as drawn."""
    layer.prepare(Moment((0, 1, 0), (0, 1, 0)))
    rows = layer.drawing._vertices.numpy().astype(float)
    return rows[..., :3], rows[..., 3], rows[..., 4]


def there(position):
    return np.isfinite(position).all(axis=-1)


@pytest.mark.parametrize("rows", [64, 7])
def test_streamlines_around_a_circle(layer, rows):
    seeds = np.float32([[0.5, 0.2, 0], [0, -0.4, 0.85]])
    style = {**BOX, "length": 2.5, "vertices": rows}
    position, speed, _ = lines_of(layer("streamlines", style, vectors=CIRCLES, seeds=seeds))
    assert there(position).all()
    for line, radius, height in zip(range(2), (0.5, 0.85), (0.2, -0.4), strict=True):
        assert np.abs(np.hypot(position[line, :, 0], position[line, :, 2]) - radius).max() < 2e-5
        assert np.abs(position[line, :, 1] - height).max() < 1e-6
        assert np.abs(speed[line] - radius).max() < 2e-5
        angle = np.unwrap(np.arctan2(position[line, :, 2], position[line, :, 0]))
        assert np.allclose(
            np.diff(angle), 2.5 / (rows - 1) / radius, rtol=2e-3
        )  # of equal length, in the right direction
    assert np.allclose(position[:, rows // 2], seeds, atol=1e-7)


def test_streamlines_of_a_saddle_end_at_the_box(layer):
    seeds = np.float32([[0.3, 0, 0.5], [-0.2, 0.1, 0.9]])
    position, _, _ = lines_of(
        layer("streamlines", {**BOX, "length": 8.0, "vertices": 401}, vectors=SADDLE, seeds=seeds)
    )
    for line, seed in zip(position, seeds, strict=True):
        valid = line[there(line)]
        assert np.abs(valid[:, 0] * valid[:, 2] - seed[0] * seed[2]).max() < 5e-5
        assert 10 < len(valid) < 401 and np.abs(valid[0, 2]) > 0.96 and np.abs(valid[-1, 0]) > 0.96


@pytest.mark.parametrize(
    ("direction", "first", "last"), [("forward", 0.5, 0.9), ("backward", 0.1, 0.5), ("both", 0.3, 0.7)]
)
def test_direction(layer, direction, first, last):
    wind = np.broadcast_to(np.float32([3, 0, 0]), (4, 4, 4, 3)).copy()
    style = {**BOX, "low": (0, 0, 0), "length": 0.4, "vertices": 41, "direction": direction}
    position, speed, _ = lines_of(layer("streamlines", style, vectors=wind, seeds=np.float32([[0.5, 0.5, 0.5]])))
    assert position[0, 0, 0] == pytest.approx(first, abs=1e-5) and position[0, -1, 0] == pytest.approx(last, abs=1e-5)
    assert np.allclose(speed, 3.0)


def test_streamlines_end_at_zero_and_nan(layer):
    field = np.broadcast_to(np.float32([1, 0, 0]), (9, 9, 9, 3)).copy()
    field[:, :, 6:] = 0.0
    field[:, :, :2] = np.nan
    seeds = np.float32([[0, 0, 0], [0.8, 0, 0], [-0.9, 0, 0], [np.nan, 0, 0], [0, 3, 0]])
    position, _, widths = lines_of(
        layer("streamlines", {**BOX, "length": 4.0, "vertices": 81}, vectors=field, seeds=seeds)
    )
    valid = position[0][there(position[0])]
    assert -0.51 < valid[0, 0] < -0.4 and 0.4 < valid[-1, 0] < 0.56
    assert there(position).sum(axis=1)[1:].tolist() == [1, 1, 0, 0]
    assert widths[0][there(position[0])][0] == 0.0 and np.isfinite(widths).all()


def test_spread_seeds_fill_the_box_evenly(layer):
    low, high = np.array([-0.5, -1, 0]), np.array([0.5, 0, 0.5])
    style = {**BOX, "count": 4096, "vertices": 2, "length": 1e-5, "seed_low": tuple(low), "seed_high": tuple(high)}
    position = lines_of(layer("streamlines", style, vectors=CIRCLES))[0][:, 1]
    counts = np.histogramdd((position - low) / (high - low), bins=4, range=3 * [(0, 1)])[0]
    assert counts.sum() == 4096
    assert np.std(counts) < 4.5  # 64 in each on average; random seeds would deviate by 8


@pytest.mark.parametrize(("plane", "components"), [("xz", 2), ("xy", 2), ("xz", 3)])
def test_a_flat_field(layer, plane, components):
    down, along = np.meshgrid(np.linspace(-1, 1, 11), np.linspace(-2, 2, 21), indexing="ij")
    field = np.stack([-down, along] if components == 2 else [-down, 0 * along, along], axis=-1).astype(np.float32)
    axis = 2 if plane == "xz" else 1
    seed = np.zeros((1, 3), np.float32)
    seed[0, 0] = 0.5
    style = {"samples": "nodes", "plane": plane, "length": 2.0, "vertices": 65}
    position, _, _ = lines_of(layer("streamlines", style, vectors=field, seeds=seed / 2))  # its longest edge is 2 units
    assert np.abs(np.hypot(position[0, :, 0], position[0, :, axis]) - 0.25).max() < 2e-5
    assert np.abs(position[0, :, 3 - axis]).max() == 0.0


@pytest.mark.turns(2)
def test_a_view_of_a_tensor_and_released_memory(gpu, layer, render):
    state = np.zeros((9, 9, 9, 7), np.float32)
    state[..., 1:4], state[..., 5] = SADDLE, X
    expected = lines_of(layer("streamlines", BOX, vectors=SADDLE, color=state[..., 5].copy()))
    render([layer("streamlines", BOX, vectors=SADDLE, color=state[..., 5].copy())], CAMERA)
    with Tensor.from_numpy(state) as whole, whole[..., 1:4] as field, whole[..., 5] as scalar:
        gpu.wait_idle()
        live = {block.id for block in gpu.tracker.live}
        lines = layer("streamlines", BOX, vectors=field, color=scalar)
        for ours, theirs in zip(lines_of(lines), expected, strict=True):
            assert np.array_equal(ours, theirs, equal_nan=True)
        before = gpu.meter.read()["geometry"]
        for _ in range(2):
            render([lines], CAMERA)
        assert gpu.meter.read()["geometry"] == before
        assert lines.report()["vectors"] == {**lines.report()["color"], "offset": 4, "format": "float32x3"}
        assert np.allclose(lines_of(lines)[1], lines_of(lines)[0][..., 0], atol=1e-6, equal_nan=True)
        lines.close()
        gpu.wait_idle()
        assert {block.id for block in gpu.tracker.live} == live


def test_another_number_of_lines_and_moving_dashes(layer):
    lines = layer("streamlines", {**BOX, "count": 5, "vertices": 20, "taper": 0.0, "width": 0.5}, vectors=CIRCLES)
    assert np.all(lines_of(lines)[2] == 0.5)
    lines.style.change("count", 9)
    lines.style.change("dashes", 1.0)
    first = lines_of(lines)[2]
    assert first.shape == (9, 20) and first.min() < 0.1 < 0.4 < first.max()
    lines.prepare(Moment((0, 1, 0), (0, 1, 0), lines.style.dash_spacing / lines.style.dash_speed))
    assert np.allclose(lines.drawing._vertices.numpy()[..., 4], first, atol=1e-4)  # one dash farther
    lines.prepare(Moment((0, 1, 0), (0, 1, 0), 0.5 * lines.style.dash_spacing / lines.style.dash_speed))
    assert np.abs(lines.drawing._vertices.numpy()[..., 4] - first).max() > 0.1


def test_a_tube_is_lit_like_a_cylinder(layer, render):
    straight = np.broadcast_to(np.float32([1, 0, 0]), (4, 4, 4, 3)).copy()
    style = {**BOX, "length": 1.9, "width": 0.5, "taper": 0.0, "roughness": 1.0}
    tube = layer("streamlines", style, vectors=straight, seeds=np.zeros((1, 3), np.float32), color="#808080")
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, orthographic=True)
    sun = View(bloom=0.0, vignette=0.0, background="#000000", sky=0.0, sun_azimuth=0.0, sun_elevation=90.0)
    column = render([tube], camera, sun)[:, 80].max(axis=-1).astype(int)
    inside = np.nonzero(column > 2)[0]
    size = 0.5 / camera.pixel(120)
    assert abs(inside[-1] - inside[0] - size / 2) < 3  # the half that faces the sun, which is above
    assert np.argmax(column) < 60 - size / 4 and (np.diff(column[inside]) < 3)[3:].all()


def test_the_box_is_known_before_anything_is_drawn(gpu, layer):
    style = {"low": (0, -1, 2), "high": (4, 1, 3)}
    bounds = [Bounds([layer(kind, style, vectors=CIRCLES)]) for kind in ("streamlines", "vectors")]
    gpu.wait_idle()
    for found in bounds:
        assert np.array_equal(found.result(), [(0, -1, 2), (4, 1, 3)])


# arrows -------------------------------------------------------------------------------------------------------------


def test_arrows_on_a_lattice(gpu, layer, render):
    arrows = layer("vectors", {**BOX, "count": 4, "high": (1, 1, 0)}, vectors=CIRCLES)
    before = gpu.meter.read()["geometry"]
    render([arrows], CAMERA, VIEW)
    assert gpu.meter.read()["geometry"] == before
    drawn = arrows.drawing.vertices[0].tensors
    position, direction, length = (drawn[name].tensor.numpy() for name in ("position", "direction", "color"))
    x, z = np.array([-0.75, -0.25, 0.25, 0.75]), np.array([-0.75, -0.25])
    assert np.allclose(
        position.reshape(2, 4, 4, 3)[1, 2], np.stack([x, 0 * x + 0.25, 0 * x + z[1]], axis=-1), atol=1e-6
    )
    grid = 2 * position[:, 2] + 1, position[:, 0]  # the box is half as long as the field's own along z
    assert np.allclose(direction, np.stack([-grid[0], 0 * grid[0], grid[1]], axis=-1), atol=1e-6)
    assert np.allclose(length, np.linalg.norm(direction, axis=-1), atol=1e-6)
    arrows.style.change("count", 2)
    render([arrows], CAMERA, VIEW)
    assert arrows.drawing.vertices[0].rows == 4


def test_arrows_look_like_those_of_the_arrows_layer(layer, render):
    field = layer("vectors", {**BOX, "count": 3, "scale": 0.3, "range": (0, 1.2)}, vectors=SADDLE)
    got = render([field], CAMERA, VIEW)
    at = np.stack(np.meshgrid(*3 * [np.array([-2, 0, 2]) / 3], indexing="ij")[::-1], axis=-1).reshape(-1, 3)
    direction = np.stack([at[:, 0], 0 * at[:, 0], -at[:, 2]], axis=-1)
    style = {"scale": 0.3, "range": (0, 1.2), "anchor": "middle"}
    attributes = {"position": at, "direction": direction, "color": np.linalg.norm(direction, axis=-1)}
    plain = layer("arrows", style, **{name: array.astype(np.float32) for name, array in attributes.items()})
    assert got.max() > 60 and np.abs(got.astype(int) - render([plain], CAMERA, VIEW)).mean() < 0.05


@pytest.mark.parametrize("kind", ["streamlines", "vectors"])
@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({}, ParameterError, "vectors must be a tensor"),
        ({"vectors": np.zeros((4, 4, 4, 2), np.float32)}, LayoutError, r"shape \(4, 4, 4, 2\)"),
        ({"vectors": np.zeros((4, 1, 3), np.float32)}, LayoutError, "2 samples along each axis"),
        ({"vectors": np.zeros((0, 4, 4, 3), np.float32)}, LayoutError, "2 samples along each axis"),
        ({"vectors": np.zeros((4, 4, 4, 3), np.float16)}, LayoutError, "must be f32: cast it"),
        ({"vectors": CIRCLES, "colr": 1.0}, ParameterError, "colr"),
    ],
)
def test_invalid_attributes_are_rejected(layer, kind, attributes, error, message):
    with pytest.raises(error, match=message):
        layer(kind, **attributes)


def test_more_than_the_binding_limit_is_rejected(gpu, layer, monkeypatch):
    monkeypatch.setattr(gpu, "limits", {**gpu.limits, "max-storage-buffer-binding-size": 100_000})
    with pytest.raises(LimitError, match="96 vertices on 256 lines are 294,912 bytes; this GPU binds 100,000"):
        layer("streamlines", vectors=CIRCLES)


def test_seeds_are_a_tensor_of_positions(layer):
    with pytest.raises(LayoutError, match="3 are needed"):
        layer("streamlines", vectors=CIRCLES, seeds=np.zeros((4, 2), np.float32))
    with pytest.raises(LayoutError, match="must be f32"):
        layer("streamlines", vectors=CIRCLES, seeds=np.zeros((4, 3), np.int32))


def test_another_style_takes_effect_immediately(layer):
    seeds = np.float32([[0.5, 0.2, 0], [0, -0.4, 0.85]])
    lines = layer("streamlines", {**BOX, "length": 0.5, "vertices": 32}, vectors=CIRCLES, seeds=seeds)
    short, _, thin = lines_of(lines)
    for name, value in (("length", 1.0), ("width", 0.02), ("range", (0.0, 1.0)), ("range", "auto")):
        lines.style.change(name, value)
    long, _, thick = lines_of(lines)
    reach = [np.linalg.norm(np.diff(position[0], axis=0), axis=-1).sum() for position in (short, long)]
    assert reach == pytest.approx([0.5, 1.0], rel=0.01)
    assert thick == pytest.approx(2 * thin)
