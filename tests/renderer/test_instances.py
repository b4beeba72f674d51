"""Instances and arrows against the same triangles computed with NumPy and drawn as a surface."""

import numpy as np
import pytest

from vertigrad.errors import LayoutError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers.shapes import SHAPES, Shape, shape
from vertigrad.renderer.picking import Picker
from vertigrad.tensor import Tensor

CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
RNG = np.random.default_rng(4)
N = 9
POSITION = RNG.uniform(-1, 1, (N, 3)).astype(np.float32)
QUATERNION = RNG.normal(size=(N, 4)).astype(np.float32)
DIRECTION = RNG.normal(size=(N, 3)).astype(np.float32)
SIZES = RNG.uniform(0.1, 0.4, (N, 3)).astype(np.float32)


def difference(a, b):
    return np.abs(a.astype(int) - b.astype(int))


def rotation(quaternion):
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def upward(direction):
    """A rotation from +y to a direction."""
    y = direction / np.linalg.norm(direction)
    x = np.cross([0, 1, 0] if abs(y[1]) <= 0.99 else [1, 0, 0], y)
    x = x / np.linalg.norm(x)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def surfaces(layer, parts, **style):
    """One surface from many meshes: (positions, normals, index) of each."""
    positions, normals, index, count = [], [], [], 0
    for position, normal, triangles in parts:
        positions.append(position)
        normals.append(normal)
        index.append(triangles + np.uint32(count))
        count += len(position)
    arrays = {"position": positions, "normal": normals, "index": index}
    merged = {name: np.concatenate(each) for name, each in arrays.items()}
    merged["index"] = merged["index"].astype(np.uint32)
    merged |= {name: merged[name].astype(np.float32) for name in ("position", "normal")}
    return layer("surface", {"roughness": 0.5, **style}, **merged, color=(0.8, 0.5, 0.3))


def moved(mesh: Shape, point, turn, size):
    normals = mesh.normals / size @ turn.T
    return mesh.positions * size @ turn.T + point, normals, mesh.index


# shapes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*(name for name in SHAPES if name != "plane"), "arrow"])
def test_shapes_are_closed_and_face_outwards(name):
    mesh = shape(name)
    if name == "arrow":
        assert set(np.unique(mesh.positions[:, 1])) == {0, 1, 2, 3}
        return
    corners = mesh.positions[mesh.index].astype(float)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.sum(across * corners.mean(axis=1), axis=-1) > 0).all()
    assert np.allclose(across.sum(axis=0), 0, atol=1e-5)  # the sum of the area vectors of a closed surface is zero
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1, atol=1e-6)
    assert (np.sum(across[:, None] * mesh.normals[mesh.index], axis=-1) > 0).all()
    assert np.abs(mesh.positions).max() == 1.0


# transforms ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(SHAPES))
def test_rotated_by_quaternions_and_scaled_along_each_axis(layer, render, name):
    style = {"shape": name, "roughness": 0.5}
    got = layer("instances", style, position=POSITION, direction=QUATERNION, size=SIZES, color=(0.8, 0.5, 0.3))
    parts = [moved(shape(name), p, rotation(q), s) for p, q, s in zip(POSITION, QUATERNION, SIZES, strict=True)]
    expected = render([surfaces(layer, parts)], CAMERA, VIEW)
    assert expected.max() > 100
    assert np.quantile(difference(render([got], CAMERA, VIEW), expected), 0.999) <= 3


def test_rotated_to_directions(layer, render):
    got = layer("instances", {"shape": "cone"}, position=POSITION, direction=DIRECTION, size=0.3, color=(0.8, 0.5, 0.3))
    parts = [moved(shape("cone"), p, upward(d), 0.3) for p, d in zip(POSITION, DIRECTION, strict=True)]
    expected = render([surfaces(layer, parts)], CAMERA, VIEW)
    assert np.quantile(difference(render([got], CAMERA, VIEW), expected), 0.999) <= 3


def test_a_mesh_from_tensors_without_normals(layer, render):
    mesh = np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    index = np.uint32([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    got = layer("instances", position=POSITION, size=0.4, mesh=mesh, index=index, color=(0.8, 0.5, 0.3))
    parts = [(0.4 * mesh + p, np.zeros_like(mesh), index) for p in POSITION]
    expected = render([surfaces(layer, parts)], CAMERA, VIEW)
    assert np.quantile(difference(render([got], CAMERA, VIEW), expected), 0.999) <= 3
    assert got.report()["mesh"]["tensor"] == "mesh" and got.report()["index"]["format"] == "uint32"


def test_a_style_selects_another_shape(layer, render):
    boxes = layer("instances", {"shape": "cube"}, position=POSITION, size=0.2)
    before = render([boxes], CAMERA, VIEW)
    boxes.style.shape = "sphere"
    after = render([boxes], CAMERA, VIEW)
    assert difference(before, after).max() > 50
    balls = layer("instances", {"shape": "sphere"}, position=POSITION, size=0.2)
    assert np.array_equal(after, render([balls], CAMERA, VIEW))


# arrows -------------------------------------------------------------------------------------------------------------


def arrow(point, vector, scale=0.3, head=0.36, thickness=0.045, anchor=0.0):
    mesh, length = shape("arrow"), scale * np.linalg.norm(vector)
    part = mesh.positions[:, 1]
    y = np.choose(part.astype(int), [0.0, 1 - head, 1 - head, 1.0]) - anchor
    wide = thickness * np.where(part > 1.5, 2.6, 1.0)
    local = length * np.stack([mesh.positions[:, 0] * wide, y, mesh.positions[:, 2] * wide], axis=-1)
    normal = mesh.normals.astype(float)
    normal[normal[:, 1] > 0.5, 1] = 2.6 * thickness / head
    turn = upward(vector)
    return local @ turn.T + point, normal @ turn.T, mesh.index


@pytest.mark.parametrize(("anchor", "share"), [("tail", 0.0), ("middle", 0.5), ("tip", 1.0)])
def test_arrows(layer, render, anchor, share):
    style = {"scale": 0.3, "anchor": anchor}
    got = layer("arrows", style, position=POSITION, direction=DIRECTION, color=(0.8, 0.5, 0.3))
    parts = [arrow(p, d, anchor=share) for p, d in zip(POSITION, DIRECTION, strict=True)]
    expected = render([surfaces(layer, parts)], CAMERA, VIEW)
    assert expected.max() > 100
    assert np.quantile(difference(render([got], CAMERA, VIEW), expected), 0.999) <= 3


def test_arrows_of_constant_and_of_maximum_length(layer, render):
    unit = DIRECTION / np.linalg.norm(DIRECTION, axis=1, keepdims=True)
    even = layer("arrows", {"scale": 0.4, "normalize": True}, position=POSITION, direction=DIRECTION)
    same = layer("arrows", {"scale": 0.4}, position=POSITION, direction=unit)
    assert np.quantile(difference(render([even], CAMERA), render([same], CAMERA)), 0.999) <= 3
    capped = layer("arrows", {"scale": 100.0, "max_length": 0.4}, position=POSITION, direction=DIRECTION)
    assert np.quantile(difference(render([capped], CAMERA), render([same], CAMERA)), 0.999) <= 3


# rows ---------------------------------------------------------------------------------------------------------------


def test_rows_that_are_not_finite_are_not_drawn(layer, render):
    for kind, style in (("instances", {"shape": "cone"}), ("arrows", {"scale": 0.3})):
        size = {"size": np.tile(np.float32(0.2), N)} if kind == "instances" else {}
        position, direction = POSITION.copy(), DIRECTION.copy()
        position[1, 2], direction[3, 0], position[5, 0] = np.nan, np.nan, np.inf
        if kind == "arrows":
            direction[7] = 0.0
        remaining = [i for i in range(N) if i not in (1, 3, 5) and (kind == "instances" or i != 7)]
        got = render([layer(kind, style, position=position, direction=direction, **size)], CAMERA)
        rest = {name: value[remaining] for name, value in size.items()}
        expected = render(
            [layer(kind, style, position=position[remaining], direction=direction[remaining], **rest)], CAMERA
        )
        assert np.array_equal(got, expected), kind


def test_colors_and_layouts(layer, render):
    state = np.zeros((N + 3, 16), np.float32)
    color = RNG.uniform(0, 1, (N, 3)).astype(np.float32)
    state[3:, 0:3], state[3:, 4:8], state[3:, 8:11], state[3:, 12:15] = POSITION, QUATERNION, color, SIZES
    separate = layer("instances", position=POSITION, direction=QUATERNION, color=color, size=SIZES)
    expected = render([separate], CAMERA)
    with Tensor.from_numpy(state) as whole:
        rows = whole[3:]
        parts = {"position": rows[:, 0:3], "direction": rows[:, 4:8], "color": rows[:, 8:11], "size": rows[:, 12:15]}
        assert np.array_equal(render([layer("instances", **parts)], CAMERA), expected)
    scalar = np.linspace(2, 5, N, dtype=np.float32)
    auto = layer("arrows", {"range": "auto"}, position=POSITION, direction=DIRECTION, color=scalar)
    fixed = layer("arrows", {"range": (2, 5)}, position=POSITION, direction=DIRECTION, color=scalar)
    assert np.array_equal(render([auto], CAMERA), render([fixed], CAMERA))


@pytest.mark.parametrize("kind", ["instances", "arrows"])
def test_the_visible_row_is_picked(gpu, layer, kind):
    point = np.float32([[0, 0, -1], [0, 0, 1], [0.9, 0, 0]])
    along = np.tile(np.float32([0, 0.4, 0]), (3, 1))
    style = {"scale": 1.0, "thickness": 0.3, "anchor": "middle"} if kind == "arrows" else {}
    size = {} if kind == "arrows" else {"size": 0.3}
    drawn = layer(kind, style, position=point, direction=along, **size)
    camera = OrbitCamera(distance=6.0, yaw=0.0, pitch=0.0, fov=40.0)
    got = []
    Picker(gpu).pick([drawn], camera, (160, 120), (80, 60), got.append)
    gpu.wait_idle()
    assert (got[0].row, got[0].cell) == (1, None)
    assert got[0].depth == pytest.approx(5.0, abs=0.35)


def test_it_copies_no_geometry_and_releases_its_memory(gpu, layer, render):
    with Tensor.from_numpy(POSITION) as position:
        live = {block.id for block in gpu.tracker.live}
        for kind in ("instances", "arrows"):
            drawn = layer(kind, position=position, direction=position, color=position[:, 0])
            render([drawn], CAMERA)
            before = gpu.meter.read()["geometry"]
            render([drawn], CAMERA)
            assert gpu.meter.read()["geometry"] == before
            assert drawn.report()["position"]["block"] == position.block.id
            drawn.close()
        gpu.wait_idle()
        assert {block.id for block in gpu.tracker.live} == live


@pytest.mark.parametrize(
    ("kind", "attributes", "error", "message"),
    [
        ("arrows", {"position": POSITION}, ParameterError, "direction must be a tensor"),
        ("arrows", {"position": POSITION, "direction": DIRECTION[:4]}, LayoutError, "expected 9 rows, got 4"),
        ("instances", {"position": POSITION, "size": (1, 2)}, ParameterError, "one or three numbers above 0"),
        ("instances", {"position": POSITION, "size": -1.0}, ParameterError, "one or three numbers above 0"),
        ("instances", {"position": POSITION, "direction": (0, 1, 0)}, ParameterError, "direction must be a tensor"),
        ("instances", {"position": POSITION, "mesh": POSITION}, ParameterError, "index, its triangles"),
        ("instances", {"position": POSITION, "mesh": POSITION, "index": np.zeros(4, np.uint32)}, LayoutError, "three"),
    ],
)
def test_invalid_attributes_are_rejected(layer, kind, attributes, error, message):
    with pytest.raises(error, match=message):
        layer(kind, **attributes)


@pytest.mark.parametrize(
    ("name", "area", "volume"),
    [
        ("cube", 24.0, 8.0),
        ("octahedron", 4 * 3**0.5, 4 / 3),
        ("sphere", 4 * np.pi, 4 / 3 * np.pi),
        ("cylinder", 6 * np.pi, 2 * np.pi),
    ],
)
def test_a_shape_is_closed_and_has_the_volume_of_its_body(name, area, volume):
    built = shape(name)
    a, b, c = (built.positions.astype(float)[built.index.reshape(-1, 3)[:, corner]] for corner in range(3))
    across = np.cross(b - a, c - a)
    tolerance = 1e-6 if name in ("cube", "octahedron") else 0.05
    assert 0.5 * np.linalg.norm(across, axis=1).sum() == pytest.approx(area, rel=tolerance)
    assert (a * across).sum() / 6.0 == pytest.approx(volume, rel=tolerance), "all turn their outside outward"
    assert np.abs(across.sum(axis=0)).max() < 1e-5, "closed"


def test_a_plane_faces_up():
    built = shape("plane")
    a, b, c = (built.positions.astype(float)[built.index[:, corner]] for corner in range(3))
    assert np.cross(b - a, c - a).tolist() == [[0, 4, 0], [0, 4, 0]]
    assert np.ptp(built.positions, axis=0).tolist() == [2, 0, 2] and (built.normals == (0, 1, 0)).all()
