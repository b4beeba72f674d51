"""Picking the row under the cursor: against rays computed with NumPy, and against the image."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad.errors import LimitError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers.shapes import grid_triangles
from vertigrad.renderer.picking import Picker, PickResult
from vertigrad.tensor import Tensor

from .conftest import PLAIN
from .test_clips import SOLID, drawn

SIZE = (200, 140)
CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
PARALLEL = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0, orthographic=True)
RNG = np.random.default_rng(8)
BALLS = RNG.uniform(-1, 1, (60, 3)).astype(np.float32)
RADII = RNG.uniform(0.05, 0.25, 60).astype(np.float32)
quick = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
cursors = st.tuples(st.floats(0, SIZE[0] - 0.01), st.floats(0, SIZE[1] - 0.01))


@pytest.fixture
def pick(gpu):
    picker = Picker(gpu)

    def ask(layers, camera, cursor, size=SIZE, view=None) -> PickResult | None:
        results = []
        reading = picker.pick(layers, camera, size, cursor, results.append, view)
        gpu.submit()
        gpu.readback.wait(reading)
        assert len(results) == 1
        return results[0]

    return ask


def ray(camera, cursor, size=SIZE):
    """Origin and direction, in world space, of the ray through the center of the cursor's pixel."""
    x, y = (int(c) + 0.5 for c in cursor)
    ndc = np.array([2 * x / size[0] - 1, 1 - 2 * y / size[1]])
    right, above, back = camera.rotation().T
    aspect, half = size[0] / size[1], math.tan(math.radians(camera.fov) / 2)
    if camera.orthographic:
        aside = camera.half_height * (ndc[0] * aspect * right + ndc[1] * above)
        return np.array(camera.position) + aside, -back
    direction = half * (ndc[0] * aspect * right + ndc[1] * above) - back
    return np.array(camera.position), direction / np.linalg.norm(direction)


def sphere_distances(camera, cursor, positions, radii):
    """Distances along the ray to each sphere (inf: missed), and distances from their surfaces, in radii."""
    origin, direction = ray(camera, cursor)
    to = positions.astype(float) - origin
    along = to @ direction
    miss = np.linalg.norm(to - along[:, None] * direction, axis=1)
    inside = np.sqrt(np.maximum(radii.astype(float) ** 2 - miss**2, 0))
    return np.where(miss < radii, along - inside, np.inf), miss / radii


@pytest.mark.parametrize("camera", [CAMERA, PARALLEL], ids=["perspective", "orthographic"])
def test_the_nearest_sphere_along_the_ray(layer, pick, camera):
    balls = layer("points", position=BALLS, size=RADII)

    @quick
    @given(cursors)
    def check(cursor):
        met, miss = sphere_distances(camera, cursor, BALLS, RADII)
        first, second = np.sort(met)[:2]
        if (np.abs(miss - 1) < 0.05).any() or second < first + 1e-3:
            return  # on an outline, where rounding decides
        result = pick([balls], camera, cursor)
        if np.isfinite(met).any():
            assert result is not None and (result.layer, result.row, result.cell) == (0, met.argmin(), None)
            origin, direction = ray(camera, cursor)
            eye = (camera.view() @ [*(origin + met.min() * direction), 1.0])[2]
            assert result.depth == pytest.approx(-eye, rel=1e-4)

    check()


def waves(rows=12, columns=17):
    x, z = np.meshgrid(np.linspace(-1.2, 1.2, columns), np.linspace(-1, 1, rows))
    return np.stack([x, 0.35 * np.sin(3 * x) * np.cos(2 * z), z], axis=-1).astype(np.float32)


def triangle_distances(camera, cursor, corners):
    """Distances along the ray to triangles (Möller and Trumbore 1997), inf where missed; and those to their borders."""
    origin, direction = ray(camera, cursor)
    a, b, c = (corners[:, i].astype(float) for i in range(3))
    first, second, to = b - a, c - a, origin - a
    normal = np.cross(direction, second)
    det = (first * normal).sum(axis=1)
    u = (to * normal).sum(axis=1) / det
    across = np.cross(to, first)
    v = (across @ direction) / det
    along = (second * across).sum(axis=1) / det
    border = np.minimum(np.minimum(u, v), 1 - u - v)
    return np.where(border >= 0, along, np.inf), border


@pytest.mark.parametrize("camera", [CAMERA, PARALLEL], ids=["perspective", "orthographic"])
@pytest.mark.parametrize("indexed", [False, True], ids=["grid", "index"])
def test_the_nearest_triangle_and_its_nearest_corner(layer, pick, camera, indexed):
    position = waves()
    flat, cells = position.reshape(-1, 3), grid_triangles(*position.shape[:2])
    if indexed:
        cells = RNG.permutation(cells)
        land = layer("surface", position=flat, index=cells)
    else:
        land = layer("surface", position=position)

    @quick
    @given(cursors)
    def check(cursor):
        met, border = triangle_distances(camera, cursor, flat[cells])
        if (np.abs(border) < 0.03).any():
            return
        result = pick([land], camera, cursor)
        if not np.isfinite(met).any():
            return
        assert result is not None and result.cell == met.argmin()
        origin, direction = ray(camera, cursor)
        away = np.linalg.norm(flat[cells[result.cell]] - (origin + met.min() * direction), axis=1)
        assert set(result.corners) == set(cells[result.cell]) and result.row == result.corners[0]
        chosen = away[list(cells[result.cell]).index(result.row)]
        assert chosen <= away.min() + 1e-4

    check()


def test_the_layer_in_front_is_picked(layer, pick):
    land = layer("surface", position=waves())
    over, under = np.float32([[0, 0.6, 0]]), np.float32([[0, -0.9, 0]])
    ball = layer("points", position=over, size=0.3)
    middle = (SIZE[0] / 2, SIZE[1] / 2)
    hit = CAMERA.projection(SIZE[0] / SIZE[1]) @ CAMERA.view() @ [*over[0], 1]
    cursor = ((hit[0] / hit[3] + 1) / 2 * SIZE[0], (1 - hit[1] / hit[3]) / 2 * SIZE[1])
    assert pick([land, ball], CAMERA, cursor).layer == 1
    assert pick([ball, land], CAMERA, cursor).layer == 0
    hidden = layer("points", position=under, size=0.3)
    assert pick([hidden, land], CAMERA, middle).layer == 1
    assert pick([hidden], CAMERA, (middle[0], middle[1] + 25)) is not None
    assert pick([], CAMERA, middle) is None


@pytest.mark.parametrize("emissive", [0.0, 1.0])
@pytest.mark.parametrize("camera", [CAMERA, PARALLEL], ids=["perspective", "orthographic"])
def test_points_too_small_for_spheres(layer, pick, camera, emissive):
    point = np.float32([[0.3, 0.2, -0.4], [0.3, 0.2, 9.0]])  # the second behind the eye, or far in front of it
    stars = layer("points", {"emissive": emissive}, position=point, size=0.004)
    clip = camera.projection(SIZE[0] / SIZE[1]) @ camera.view() @ [*point[0], 1]
    x, y = (clip[0] / clip[3] + 1) / 2 * SIZE[0], (1 - clip[1] / clip[3]) / 2 * SIZE[1]
    assert pick([stars], camera, (x, y)).row == 0
    assert pick([stars], camera, (x + 4, y - 3)).row == 0, "a hand is not that steady"
    assert pick([stars], camera, (x + 9, y)) is None


def test_of_several_small_points_the_nearest_to_the_cursor_is_picked(layer, pick):
    camera = OrbitCamera(distance=4.0)
    pixel = camera.pixel(SIZE[1]) * 4.0
    right = camera.rotation()[:, 0]
    positions = np.float32([right * (k + 0.5) * pixel for k in (-4, 3, 40)])
    stars = layer("points", position=positions, size=0.2 * pixel)
    x, y = SIZE[0] / 2, SIZE[1] / 2 - 0.5
    assert [pick([stars], camera, (x + dx, y)).row for dx in (-3, -1, 1, 2, 38)] == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("cursor", [(0, 0), (SIZE[0] - 0.5, SIZE[1] - 0.5), (0, SIZE[1] - 0.5), (-3.0, 50.0)])
def test_the_corners_of_the_image(layer, pick, cursor):
    wall = np.stack(np.meshgrid([-50.0, 50.0], [-50.0, 50.0], indexing="ij"), axis=-1)
    wall = np.concatenate([wall, np.zeros((2, 2, 1))], axis=-1).astype(np.float32)
    result = pick([layer("surface", position=wall)], OrbitCamera(distance=4.0), cursor)
    assert result is not None and result.depth == pytest.approx(4.0, rel=1e-4)


def test_rows_are_those_of_the_tensor_in_any_layout(layer, pick):
    state = np.zeros((70, 8), np.float32)
    state[10:, 2:5], state[10:, 7] = BALLS, RADII
    with Tensor.from_numpy(state, name="state") as whole:
        rows = whole[10:]
        balls = layer("points", position=rows[:, 2:5], size=rows[:, 7])
        packed = layer("points", position=BALLS, size=RADII)
        for cursor in ((100, 70), (60, 60), (130, 90), (90, 50)):
            assert pick([balls], CAMERA, cursor) == pick([packed], CAMERA, cursor)
    surface = np.full((9, 12, 5), 7, np.float32)
    surface[1:, :, 1:4] = waves(8, 12)
    with Tensor.from_numpy(surface, name="wide") as wide:
        index = np.concatenate([np.zeros((5, 3), np.uint32), grid_triangles(8, 12)])
        with Tensor.from_numpy(index, name="index") as indices:
            land = layer("surface", position=wide[1:].reshape(96, 5)[:, 1:4], index=indices[5:])
            plain = layer("surface", position=waves(8, 12))
            for cursor in ((100, 70), (60, 60), (130, 90), (90, 50)):
                assert pick([land], CAMERA, cursor) == pick([plain], CAMERA, cursor)


def test_rows_that_are_not_drawn_are_not_picked(layer, pick):
    point = np.zeros((4, 3), np.float32)
    point[0] = math.nan
    color = np.ones((4, 4), np.float32)
    color[1, 3] = 0.02
    size = np.float32([0.3, 0.35, -1.0, 0.2])
    balls = layer("points", position=point, color=color, size=size)
    middle = (SIZE[0] / 2, SIZE[1] / 2)
    assert pick([balls], CAMERA, middle).row == 3
    assert pick([layer("surface", position=waves(), color=(1, 1, 1, 0.0))], CAMERA, middle) is None


@pytest.mark.turns(3)
@pytest.mark.parametrize("kind", [*(kind for kind in SOLID if kind != "isosurface"), "spots", "marks", "image"])
def test_clipped_rows_are_not_picked_and_the_rest_is_unchanged(layer, pick, kind):
    thing = drawn(layer, kind)
    camera = OrbitCamera(distance=10.0, orthographic=True)
    camera.distance *= SIZE[1] / 2 / 40 / camera.half_height  # 40 pixels per world unit
    clipped = View(**PLAIN, clip_normal=(3.0, 0.0, 0.0), clip_origin=(0.25, 5.0, 5.0))
    edge, result = SIZE[0] // 2 + 10, {True: 0, False: 0}
    for x in [*range(edge - 80, edge - 15, 6), *range(edge + 6, edge + 60, 6)]:
        for y in range(SIZE[1] // 2 - 45, SIZE[1] // 2 + 46, 15):
            whole = pick([thing], camera, (x, y))
            result[x < edge] += whole is not None
            assert pick([thing], camera, (x, y), view=clipped) == (whole if x < edge else None), (x, y)
    assert min(result.values()) >= 1, "there was something to pick on both sides"


@pytest.mark.parametrize("cut", [False, True])
def test_an_isosurface_occludes_picking_unless_clipped(layer, pick, cut):
    solid = drawn(layer, "isosurface")
    ball = layer("points", position=np.float32([[0, 0, -3]]), size=0.5)
    clipped = View(**PLAIN, clip_normal=(0, 0, 1), clip_origin=(0, 0, -2.0)) if cut else View(**PLAIN)
    result = pick([ball, solid], OrbitCamera(distance=10.0), (SIZE[0] / 2, SIZE[1] / 2), view=clipped)
    assert result is not None and result.layer == (0 if cut else 1)


def test_a_million_points(layer, pick):
    point = np.zeros((1_000_000, 3), np.float32)
    point[:, 0] = np.linspace(-40, 40, 1_000_000)
    point[777_777] = (0, 0, 1)
    balls = layer("points", position=point, size=0.02)
    assert pick([balls], OrbitCamera(distance=4.0), (SIZE[0] / 2, SIZE[1] / 2)).row == 777_777


def test_a_surface_too_large_to_be_bound_is_reported(layer, pick, gpu, monkeypatch):
    land = layer("surface", position=waves())
    monkeypatch.setitem(gpu.limits, "max-storage-buffer-binding-size", 1000)
    with pytest.raises(LimitError, match="cannot be picked: tensor 'position' spans 2,448 bytes; this GPU binds 1,000"):
        pick([land], CAMERA, (100, 70))
    gpu.abandon()
    monkeypatch.undo()
    assert pick([land], CAMERA, (100, 70)) is not None


def test_picking_copies_no_geometry(layer, pick, gpu):
    balls, land = layer("points", position=BALLS, size=RADII), layer("surface", position=waves())
    pick([balls, land], CAMERA, (10, 10))
    before = gpu.meter.read()
    pick([balls, land], CAMERA, (100, 70))
    after = gpu.meter.read()
    assert after["geometry"] == before["geometry"]
    assert after["diagnostics"]["device_to_host"] - before["diagnostics"]["device_to_host"] == 9 * 9 * 24
