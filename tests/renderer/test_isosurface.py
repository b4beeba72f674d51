"""Isosurfaces: the table of marching cubes, the cells that are found, and images against exact shapes."""

import re
from collections import Counter

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import LayoutError, LimitError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.layers import isosurface as module
from vertigrad.renderer.layers.marching import MOST, edge, ends, packed, triangles
from vertigrad.renderer.picking import Picker
from vertigrad.tensor import Tensor

CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")


def ball(n=24, radius=0.7):
    z, y, x = np.meshgrid(*3 * [np.linspace(-1, 1, n)], indexing="ij")
    return (np.sqrt(x * x + y * y + z * z) - radius).astype(np.float32)


def difference(a, b):
    return np.abs(a.astype(int) - b.astype(int))


# the table ----------------------------------------------------------------------------------------------------------


def corner(c):
    return np.array([c & 1, c >> 1 & 1, c >> 2])


def test_every_cell_configuration_is_cut_at_the_edges_that_the_surface_crosses():
    for inside in range(256):
        crossed = {e for e in range(12) if len({inside >> c & 1 for c in ends(e)}) == 2}
        assert {e for triangle in triangles(inside) for e in triangle} == crossed
        assert len(triangles(inside)) <= MOST
    assert [edge(*ends(e)) for e in range(12)] == list(range(12))


def test_triangles_face_outwards():
    for c in range(8):
        a, b, d = (sum(corner(k) for k in ends(e)) / 2 for e in triangles(1 << c)[0])
        assert np.dot(np.cross(b - a, d - a), a - corner(c)) > 0


def test_surfaces_have_no_holes():
    """For any samples: each edge inside the grid belongs to exactly two triangles, with opposite orientations."""
    rng = np.random.default_rng(2)
    inside = rng.integers(0, 2, (6, 6, 6))
    sides = Counter()
    for z, y, x in np.ndindex(5, 5, 5):
        kind = sum(int(inside[tuple((np.array([x, y, z]) + corner(c))[::-1])]) << c for c in range(8))
        for triangle in triangles(kind):
            positions = [tuple(2 * np.array([x, y, z]) + sum(corner(c) for c in ends(e))) for e in triangle]
            for start, end in zip(positions, positions[1:] + positions[:1], strict=True):
                sides[start, end] += 1
    assert len(sides) > 500
    for (start, end), count in sides.items():
        on_hull = any(a == b and a in (0, 10) for a, b in zip(start, end, strict=True))
        assert count == 1
        assert on_hull or sides[end, start] == 1, (start, end)


def test_the_packed_table_is_the_same():
    table = packed().reshape(256, 2)
    for inside in range(256):
        edges = [int(table[inside, n // 8]) >> 4 * (n % 8) & 15 for n in range(15)]
        expected_edges = [e for triangle in triangles(inside) for e in triangle]
        assert edges == expected_edges + [15] * (15 - len(expected_edges))


# the cells ----------------------------------------------------------------------------------------------------------


def listed(gpu, layer):
    """{cell: corners below} as found by the GPU, and the four arguments of the draw."""
    layer.prepare()
    size = layer.drawing.size.numpy().tolist()
    few, more, *cells = layer.drawing._cells.numpy().tolist()
    found = cells[:few] + cells[len(cells) - more :]
    for group, least, most in ((cells[:few], 1, 2), (cells[len(cells) - more :], 3, 5)):
        assert all(least <= len(triangles(c >> 24)) <= most for c in group)
    assert size[0] == 6 * few + 15 * more
    return {c & 0xFFFFFF: c >> 24 for c in found}, size


def expected_cells(values, level):
    nz, ny, nx = (n - 1 for n in values.shape)
    found = {}
    for z, y, x in np.ndindex(nz, ny, nx):
        corners = [values[z + (c >> 2), y + (c >> 1 & 1), x + (c & 1)] for c in range(8)]
        below = sum(int(v < level) << c for c, v in enumerate(corners))
        if 0 < below < 255 and np.isfinite(corners).all():
            found[(z * ny + y) * nx + x] = below
    return found


def test_the_cells_that_are_found(gpu, layer):
    rng = np.random.default_rng(7)
    values = rng.normal(size=(5, 7, 9)).astype(np.float32)
    values[2, 3, 4], values[0, 0, 0], values[4, 6, 8] = np.nan, np.inf, -np.inf
    surface = layer("isosurface", {"level": 0.3}, values=values)
    cells, size = listed(gpu, surface)
    assert cells == expected_cells(values, 0.3)
    assert size[1:] == [1, 0, 0]
    surface.style.change("level", -1.1)
    assert listed(gpu, surface)[0] == expected_cells(values, -1.1)
    surface.style.change("level", 99.0)
    assert listed(gpu, surface) == ({}, [0, 1, 0, 0])


def test_more_cells_than_a_row_of_workgroups(gpu, layer):
    values = np.ones((3, 2, 128 * 400), np.float32)
    values[:, :, -1] = -1.0
    cells, _ = listed(gpu, layer("isosurface", values=values))
    assert len(cells) == 2


# images -----------------------------------------------------------------------------------------------------------


def test_a_ball_looks_like_a_sphere(layer, render):
    style = {"roughness": 0.6, "metallic": 0.0}
    surface = layer("isosurface", style, values=ball(), color=(0.2, 0.5, 0.8))
    sphere = layer("points", style, position=np.zeros((1, 3), np.float32), size=0.7, color=(0.2, 0.5, 0.8))
    got, expected = render([surface], CAMERA, VIEW), render([sphere], CAMERA, VIEW)
    assert expected.max() > 100
    assert difference(got, expected).mean() < 0.6
    assert np.quantile(difference(got, expected), 0.99) < 12
    # Inside and outside can be exchanged.
    turned = layer("isosurface", style, values=-ball(), color=(0.2, 0.5, 0.8))
    assert difference(render([turned], CAMERA, VIEW), got).mean() < 0.05


def test_the_surface_is_at_the_reported_position(layer, render):
    style = {"low": (0.2, -0.7, -0.6), "high": (1.6, 0.7, 0.8), "level": 0.0}
    sphere = layer("points", {"roughness": 0.5}, position=np.float32([[0.9, 0.0, 0.1]]), size=0.49, color=(1, 1, 1))
    expected = render([sphere], CAMERA, VIEW)
    got = render([layer("isosurface", style, values=ball(), color=(1.0, 1.0, 1.0))], CAMERA, VIEW)
    assert difference(got, expected).mean() < 0.5
    cells = render([layer("isosurface", {**style, "samples": "cells"}, values=ball(), color=(1.0, 1.0, 1.0))], CAMERA)
    smaller = layer("points", {"roughness": 0.5}, position=np.float32([[0.9, 0.0, 0.1]]), size=0.49 * 23 / 24)
    assert difference(cells, expected).mean() > 0.1
    assert ((cells.max(axis=-1) > 8) == (render([smaller], CAMERA).max(axis=-1) > 8)).mean() > 0.998


def test_colors_in_every_form(layer, render):
    values = ball(12)
    one = render([layer("isosurface", values=values, color=(51 / 255, 153 / 255, 1.0))], CAMERA, VIEW)
    each = np.tile(np.float32((51 / 255, 153 / 255, 1.0)), (5, 6, 7, 1))
    assert difference(render([layer("isosurface", values=values, color=each)], CAMERA, VIEW), one).max() <= 1
    assert difference(render([layer("isosurface", values=values, color="#3399ff")], CAMERA, VIEW), one).max() <= 1
    dark = render([layer("isosurface", values=values, color=(0.0, 0.0, 0.0))], CAMERA, VIEW)
    sevens = np.full((4, 4, 4), 7.0, np.float32)
    for end in ((7.0, 8.0), "auto"):
        sevens[0, 0, 0] = 7.0 if end != "auto" else 8.0  # at the corner of the box, far from the ball
        got = render(
            [layer("isosurface", {"colormap": "gray", "range": end}, values=values, color=sevens)], CAMERA, VIEW
        )
        assert np.quantile(difference(got, dark), 0.97) <= 2


def test_the_same_values_in_any_layout(layer, render):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(6, 5, 7)).astype(np.float32)
    expected = render([layer("isosurface", values=values, color=values)], CAMERA)
    assert np.ptp(expected) > 60
    wide = np.full((9, 9, 16), 50.0, np.float32)
    wide[2:8, 1:6, 1:15:2] = values
    turned = np.ascontiguousarray(values.transpose(2, 0, 1))
    backward = np.ascontiguousarray(values[::-1, :, ::-1])
    with Tensor.from_numpy(wide) as a, Tensor.from_numpy(turned) as b, Tensor.from_numpy(backward) as c:
        for strided in (a[2:8, 1:6, 1:15:2], b.permute(1, 2, 0), c[::-1, :, ::-1]):
            assert np.array_equal(render([layer("isosurface", values=strided, color=strided)], CAMERA), expected)


def test_it_occludes_picking_behind_it(gpu, layer):
    surface = layer("isosurface", values=ball())
    points = layer("points", position=np.float32([[0, 0, -2], [0, 0, 2]]), size=0.2)
    camera = OrbitCamera(distance=6.0, yaw=0.0, pitch=0.0, fov=40.0)
    behind = OrbitCamera(distance=6.0, yaw=0.0, pitch=0.0, fov=40.0, target=(0.0, 0.0, 0.0))
    got = []
    Picker(gpu).pick([points, surface], camera, (160, 120), (80, 60), got.append)
    gpu.wait_idle()
    assert (got[0].layer, got[0].row) == (0, 1)
    points.bind({"position": points.attributes.tensors["position"].tensor[:1], "size": 0.2})
    Picker(gpu).pick([points, surface], behind, (160, 120), (80, 60), got.append)
    gpu.wait_idle()
    assert got[1] is not None and got[1].layer == 1, "the surface itself"
    Picker(gpu).pick([points], behind, (160, 120), (80, 60), got.append)
    gpu.wait_idle()
    assert got[2] is not None


def test_it_copies_no_geometry_and_releases_its_memory(gpu, layer, render):
    with Tensor.from_numpy(ball(9)) as values:
        live = {block.id for block in gpu.tracker.live}
        surface = layer("isosurface", values=values, color=values)
        render([surface], CAMERA)
        before = gpu.meter.read()["geometry"]
        render([surface], CAMERA)
        assert gpu.meter.read()["geometry"] == before
        assert values.block in surface.blocks()
        assert surface.report()["values"]["block"] == values.block.id
        surface.close()
        gpu.wait_idle()
        assert {block.id for block in gpu.tracker.live} == live


@pytest.mark.parametrize(
    ("attributes", "error", "message"),
    [
        ({}, ParameterError, "values must be a tensor"),
        ({"values": np.ones((4, 4), np.float32)}, LayoutError, r"\(4, 4\).*\(nz, ny, nx\)"),
        ({"values": np.ones((4, 4, 4), np.uint8)}, LayoutError, "u8.*cast"),
        ({"values": np.ones((4, 4, 4), np.float32), "color": np.ones((64, 3), np.float32)}, LayoutError, "color"),
    ],
)
def test_invalid_attributes_are_rejected(layer, attributes, error, message):
    with pytest.raises(error, match=message):
        layer("isosurface", **attributes)


def test_too_many_cells_are_refused(layer, monkeypatch):
    monkeypatch.setattr(module, "MOST_CELLS", 26)
    with pytest.raises(LimitError, match="27 cells; an isosurface takes 26"):
        layer("isosurface", values=np.ones((4, 4, 4), np.float32))


def test_no_vertex_is_clipped():
    """Vertices that a cell does not need have no area: a software adapter clips whole groups where one is outside."""
    text = resources.shader("draw/isosurface.wgsl")
    (nowhere,) = re.findall(r"const NOWHERE = vec4f\((.*)\);", text)
    x, y, z, w = map(float, nowhere.split(","))
    assert abs(x) < w and abs(y) < w and 0.0 < z < w
