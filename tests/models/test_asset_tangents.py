"""Tangents that a file lacks: by the rules of MikkTSpace, on shapes whose tangents are known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vertigrad.models.data.assets.content import VERTEX, Map
from vertigrad.models.data.assets.parts import PartArrays
from vertigrad.models.data.assets.reading import read
from vertigrad.models.data.assets.tangents import with_tangents

from .gltf_builder import Builder, quad

Points = tuple[np.ndarray, np.ndarray, np.ndarray]  # positions, normals and the direction in which u grows


def part(positions: Any, normals: Any, texcoords: Any, index: Any) -> PartArrays:
    """Vertices of one material, with coordinates in the first set."""
    count = len(positions)
    vertices, both = np.zeros((count, VERTEX), np.float32), np.zeros((count, 4), np.float32)
    vertices[:, :3], vertices[:, 3:6], both[:, :2] = positions, normals, texcoords
    none = np.zeros((count, 0))
    triangles = np.asarray(index, np.uint32).reshape(-1, 3)
    deltas = np.zeros((1, count, 9), np.float32)
    deltas[0, :, 0] = np.arange(count)
    return PartArrays(vertices, both, None, triangles, 0, none.astype(np.uint32), none.astype(np.float32), deltas)


def grid(points: Any, columns: int, rows: int) -> tuple[PartArrays, np.ndarray]:
    """A surface over u and v from 0 to 1, and the direction of u at each vertex."""
    u, v = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1)))
    positions, normals, along = points(2 * math.pi * u, v)
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    right, below, both = corner + 1, corner + columns + 1, corner + columns + 2
    index = np.stack([corner, below, right, right, below, both], axis=1)
    return part(positions, normals, np.stack([u, v], axis=1), index), along


def sphere(angle: np.ndarray, v: np.ndarray) -> Points:
    polar = math.pi * (0.1 + 0.8 * v)
    out = np.stack([np.sin(polar) * np.cos(angle), np.cos(polar), -np.sin(polar) * np.sin(angle)], axis=1)
    return 2 * out, out, np.stack([-np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)


def torus(angle: np.ndarray, v: np.ndarray) -> Points:
    round_ = math.pi * (1 - 2 * v)
    ring = np.stack([np.cos(angle), 0 * angle, -np.sin(angle)], axis=1)
    out = np.cos(round_)[:, None] * ring + np.sin(round_)[:, None] * np.array([0.0, 1.0, 0.0])
    return 3 * ring + out, out, np.stack([-np.sin(angle), 0 * angle, -np.cos(angle)], axis=1)


@pytest.mark.parametrize("shape", [sphere, torus])
@pytest.mark.parametrize("mirrored", [False, True])
def test_tangents_are_along_u(shape: Any, mirrored: bool) -> None:
    """The error falls as the triangles shrink; a mirrored texture has the other direction and w = -1."""
    errors = []
    for columns in (24, 48):
        given, along = grid(shape, columns, columns // 2)
        if mirrored:
            given.texcoords[:, 0] *= -1
        found = with_tangents(given, Map(0)).vertices
        assert len(found) == len(given.vertices)
        assert (found[:, 9] == (-1 if mirrored else 1)).all()
        assert np.abs(np.sum(found[:, 6:9] * found[:, 3:6], axis=1)).max() < 1e-6
        cosine = np.sum(found[:, 6:9] * along, axis=1) * found[:, 9]
        errors.append(np.arccos(np.clip(cosine, -1, 1)).max())
    assert errors[0] < 0.2 and errors[1] < 0.6 * errors[0]


def test_halves_that_are_mirrored_have_vertices_of_their_own() -> None:
    """A square whose texture is mirrored at its middle line: its two vertices there are split, and nothing else."""
    x, y = (axis.reshape(-1) for axis in np.meshgrid([-1.0, 0.0, 1.0], [0.0, 1.0]))
    index = [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]
    texcoords = np.stack([np.abs(x), 1 - y], axis=1)
    given = part(np.stack([x, y, 0 * x], axis=1), [[0, 0, 1]] * 6, texcoords, index)
    found = with_tangents(given, Map(0))
    assert len(found.vertices) == 8 and found.index.shape == (4, 3)
    of_triangle = found.vertices[found.index]
    np.testing.assert_array_equal(of_triangle[..., :6], given.vertices[given.index][..., :6])
    np.testing.assert_allclose(of_triangle[:2, :, 6:], np.broadcast_to([-1, 0, 0, -1], (2, 3, 4)), atol=1e-6)
    np.testing.assert_allclose(of_triangle[2:, :, 6:], np.broadcast_to([1, 0, 0, 1], (2, 3, 4)), atol=1e-6)
    np.testing.assert_array_equal(found.deltas[0, :, 0][found.index], given.index)  # morph targets follow


def test_triangles_count_by_their_angles_at_the_vertex() -> None:
    """Two triangles at an edge, of 90 and 30 degrees, on which u grows in different directions."""
    angles = np.radians([0.0, 90.0, 120.0])
    rim = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1) * np.array([[1.0], [3.0], [2.0]])
    positions = np.concatenate([np.zeros((1, 3)), rim])
    u, v = np.array([0.0, 1.0, 0.5, -1.5]), np.array([0.0, 0.2, -3.0, -1.0])
    given = part(positions, [[0, 0, 1]] * 4, np.stack([u, v], axis=1), [[0, 1, 2], [0, 2, 3]])
    triangles = np.array([positions[[1, 2]], positions[[2, 3]]])[..., :2]
    coordinates = np.stack([u, v], axis=1)[[[1, 2], [2, 3]]]
    jacobian = np.linalg.inv(coordinates) @ triangles  # rows: how the position changes with u and with v
    along = jacobian[:, 0] / np.linalg.norm(jacobian[:, 0], axis=1, keepdims=True)
    mean = 90.0 * along[0] + 30.0 * along[1]
    found = with_tangents(given, Map(0)).vertices
    assert len(found) == 4 and (found[:, 9] == 1).all()
    assert along[0] @ along[1] < 0.98  # else the weights would not matter
    np.testing.assert_allclose(found[0, 6:8], mean / np.linalg.norm(mean), atol=1e-6)
    np.testing.assert_allclose(found[1, 6:8], along[0], atol=1e-6)


def test_triangles_that_only_touch_at_a_vertex_do_not_share_it() -> None:
    positions = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [-1, 0, 0], [-1, -1, 0]]
    texcoords = [[0, 0], [1, 0], [1, -1], [0, -1], [1, -1]]
    found = with_tangents(part(positions, [[0, 0, 1]] * 5, texcoords, [[0, 1, 2], [0, 3, 4]]), Map(0))
    assert len(found.vertices) == 6
    assert not np.allclose(found.vertices[found.index[0, 0], 6:9], found.vertices[found.index[1, 0], 6:9])


def corner_by_corner(given: PartArrays) -> tuple[np.ndarray, np.ndarray]:
    """Tangents and signs (m, 3, 4) by the rules as they are written, one corner at a time in float64.

    And which corners have a direction of their own.
    """
    shape, coordinates = given.vertices[:, :6].astype(float), given.texcoords[:, :2].astype(float)
    key = [(*a, *b) for a, b in zip(shape, coordinates, strict=True)]
    along: dict[int, np.ndarray] = {}
    sign: dict[int, float] = {}
    for face, rows in enumerate(given.index):
        edges, change = shape[rows[1:], :3] - shape[rows[0], :3], coordinates[rows[1:]] - coordinates[rows[0]]
        determinant = change[0, 0] * change[1, 1] - change[0, 1] * change[1, 0]
        if determinant == 0.0:
            continue
        along[face] = (np.linalg.inv(change) @ edges)[0]
        sign[face] = -math.copysign(1.0, determinant)
        if not along[face].any():
            del along[face], sign[face]

    def neighbors(face: int, at: int) -> list[tuple[int, int]]:
        """The corners at the same vertex in triangles that share one of its two edges there."""
        found, own = [], [key[row] for row in given.index[face]]
        for other in along.keys() - {face}:
            theirs = [key[row] for row in given.index[other]]
            if own[at] in theirs and len(set(own) & set(theirs)) >= 2 and sign[other] == sign[face]:
                found.append((other, theirs.index(own[at])))
        return found

    tangents, has_one = np.zeros((len(given.index), 3, 4)), np.zeros((len(given.index), 3), bool)
    for face, at in ((face, at) for face in along for at in range(3)):
        group, ahead = {(face, at)}, [(face, at)]
        while ahead:
            new = [corner for corner in neighbors(*ahead.pop()) if corner not in group]
            group |= set(new)
            ahead += new
        normal, total = shape[given.index[face, at], 3:], np.zeros(3)
        flat = np.eye(3) - np.outer(normal, normal)
        for other, corner in group:
            here, to, back = (shape[given.index[other, (corner + step) % 3], :3] for step in range(3))
            one, two = flat @ (to - here), flat @ (back - here)
            angle = math.acos(np.clip(one @ two / np.linalg.norm(one) / np.linalg.norm(two), -1, 1))
            direction = flat @ along[other]
            total += angle * direction / np.linalg.norm(direction)
        tangents[face, at], has_one[face, at] = (*total / np.linalg.norm(total), sign[face]), True
    return tangents, has_one


@pytest.mark.parametrize("seed", range(4))
def test_rough_ground_with_seams_mirrors_and_degenerate_triangles_against_one_corner_at_a_time(seed: int) -> None:
    """Columns 0 to 3 have one half of the texture, the others its mirror image, or an island of their own."""
    chance, (columns, rows) = np.random.default_rng(seed), (6, 5)
    x, y = (axis.reshape(-1).astype(float) for axis in np.meshgrid(np.arange(columns + 1), np.arange(rows + 1)))
    positions = np.stack([x, chance.uniform(-0.4, 0.4, len(x)), y], axis=1) + chance.uniform(-0.2, 0.2, (len(x), 3))
    normals = chance.normal((0, 4, 0), 1.0, (len(x), 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    texcoords = np.stack([np.abs(x - 3), y], axis=1) + chance.uniform(-0.15, 0.15, (len(x), 2))
    texcoords[x == 3, 0] = 0.0
    corner = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).reshape(-1)
    below = corner + columns + 1
    index = np.stack([corner, below, corner + 1, corner + 1, below, below + 1], axis=1).reshape(-1, 3)
    if seed % 2:  # a seam at the middle: vertices there are stored twice, with other coordinates
        seam, moved = np.flatnonzero(x == 3), np.arange(len(x))
        moved[seam] = len(x) + np.arange(len(seam))
        right = x[index].max(axis=1) > 3
        index[right] = moved[index[right]]
        positions, normals = (np.concatenate([one, one[seam]]) for one in (positions, normals))
        texcoords = np.concatenate([texcoords, texcoords[seam] + [7.0, 0.0]])
    index = np.concatenate([index, [[0, 0, 1], [2, 9, 2]]])  # without an area
    texcoords[index[5]] = texcoords[index[5, 0]]  # nor one of the texture, which also is so at some of its neighbors
    given = part(positions, normals, texcoords, chance.permutation(index))
    expected, has_one = corner_by_corner(given)
    found = with_tangents(given, Map(0))
    corners = found.vertices[found.index]
    np.testing.assert_array_equal(corners[..., :6], given.vertices[given.index][..., :6])
    assert 0.7 < has_one.mean() < 1.0 and len(set(expected[has_one, 3])) == 2
    np.testing.assert_allclose(corners[has_one][:, 6:], expected[has_one], atol=2e-6)


def test_a_vertex_that_is_stored_twice_has_one_tangent() -> None:
    given, _ = grid(sphere, 12, 6)
    unshared = given.taken(given.index.reshape(-1), np.arange(given.index.size, dtype=np.uint32).reshape(-1, 3))
    one, other = with_tangents(given, Map(0)), with_tangents(unshared, Map(0))
    np.testing.assert_allclose(one.vertices[one.index], other.vertices[other.index], atol=1e-6)


def test_triangles_without_a_direction_take_that_of_a_neighbor_or_none() -> None:
    positions = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [5, 0, 0], [6, 0, 0], [6, 1, 0]]
    texcoords = [[0, 1], [1, 1], [1, 0], [0.5, 0.5], [0, 0], [0, 0], [0, 0]]
    given = part(positions, [[0, 0, 1]] * 7, texcoords, [[0, 1, 2], [0, 2, 3], [4, 5, 6]])
    found = with_tangents(given, Map(0))
    tangents = found.vertices[found.index][..., 6:]
    np.testing.assert_allclose(tangents[1, :2], [[1, 0, 0, 1]] * 2, atol=1e-6)
    assert not tangents[1, 2].any() and not tangents[2].any()


def test_the_transform_of_the_map_turns_tangents_and_the_second_set_is_used() -> None:
    attributes, index = quad()
    given = part(attributes["POSITION"], attributes["NORMAL"], attributes["TEXCOORD_0"], index)
    quarter = Map(0, transform=((0.0, 1.0, 0.0), (-1.0, 0.0, 0.0)))  # u is what v was, which points down
    found = with_tangents(given, quarter).vertices
    np.testing.assert_allclose(found[:, 6:], [[0, -1, 0, 1]] * 4, atol=1e-6)
    given.texcoords[:, 2:] = given.texcoords[:, :2] * (-1, 1)
    np.testing.assert_allclose(with_tangents(given, Map(0, 1)).vertices[:, 6:], [[-1, 0, 0, -1]] * 4, atol=1e-6)


@pytest.mark.parametrize("normals", [True, False])
def test_a_gltf_file_without_tangents_gets_them_for_its_normal_map(tmp_path: Path, normals: bool) -> None:
    builder = Builder()
    texture = builder.image(np.full((2, 2, 3), 128, np.uint8))
    builder.add("materials", {"normalTexture": {"index": texture}})
    attributes, index = quad()
    del attributes["TANGENT"]
    if not normals:
        del attributes["NORMAL"]
    for material in ({"material": 0}, {}):
        builder.node(mesh=builder.mesh(attributes, index, **material))
    found = read(builder.save(tmp_path / "a.glb"), 0.0, "y", 64).asset
    half = len(found.vertices) // 2
    np.testing.assert_allclose(found.vertices[:half, 6:], [[1, 0, 0, 1]] * half, atol=1e-6)
    assert not found.vertices[half:, 6:].any()  # no map, no tangents


def test_an_obj_file_gets_them_too(tmp_path: Path) -> None:
    Image.new("RGB", (2, 2), (128, 128, 255)).save(tmp_path / "bumps.png")
    (tmp_path / "a.mtl").write_text("newmtl rough\nnorm bumps.png\n")
    corners = "v -1 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvn 0 0 1\nf 1/1/1 2/2/1 3/3/1\n"
    (tmp_path / "a.obj").write_text(f"mtllib a.mtl\nusemtl rough\n{corners}")
    found = read(tmp_path / "a.obj", 0.0, "y", 64).asset
    np.testing.assert_allclose(found.vertices[:, 6:], [[1, 0, 0, 1]] * 3, atol=1e-6)
