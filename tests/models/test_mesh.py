"""Meshes from files of every kind, their normals, and distances against those of known solids."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

from vertigrad import resources
from vertigrad.errors import InputError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.models.data import ply_mesh
from vertigrad.models.data.mesh import Mesh, Params, distances, sample
from vertigrad.models.data.mesh_file import FORMATS, MeshFile, _loaded, read, split_at_creases
from vertigrad.models.data.sdf_grid import lattice
from vertigrad.scene import load
from vertigrad.scene.save import refuse_protected
from vertigrad.session import Session
from vertigrad.tensor import Tensor


def written(folder: Path, mesh: trimesh.Trimesh, suffix: str = ".ply") -> Path:
    path = folder / f"some mesh{suffix}"
    mesh.export(path)
    return path


def box() -> trimesh.Trimesh:
    return trimesh.creation.box(extents=(1.0, 2.0, 4.0))


# files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format(tmp_path: Path, suffix: str) -> None:
    mesh = read(written(tmp_path, box(), suffix), 2.0, "y", 40.0)
    assert mesh.index.shape == (12, 3) and mesh.positions.shape == (24, 3)  # each corner once for each of its faces
    assert np.allclose(mesh.positions.max(axis=0), (0.25, 0.5, 1.0)) and np.allclose(mesh.positions.min(axis=0)[2], -1)
    assert np.allclose(np.abs(mesh.normals).max(axis=1), 1.0)
    assert (np.sum(mesh.normals * mesh.positions, axis=1) > 0).all()


@pytest.mark.parametrize("kind", ["knot", "colors", "normals"])
def test_a_usual_ply_is_read_as_trimesh_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    path = resources.path("assets", "data", "knot.ply")
    if kind != "knot":
        mesh = trimesh.creation.icosphere(2)
        colors = np.random.default_rng(0).integers(0, 256, (len(mesh.vertices), 4), np.uint8)
        mesh = trimesh.Trimesh(mesh.vertices, mesh.faces, vertex_colors=colors if kind == "colors" else None)
        path = tmp_path / "x.ply"
        path.write_bytes(mesh.export(file_type="ply", vertex_normal=kind == "normals"))  # type: ignore[arg-type]
    ours = ply_mesh.read(path)
    assert ours is not None
    whole = _loaded(path)
    monkeypatch.setattr(ply_mesh, "read", lambda path: None)
    for one, other in zip(whole, _loaded(path), strict=True):
        assert one is other is None or np.array_equal(one, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"element face 4", b"element face 5"),  # rows that are not there
        (b"element face 4", b"element face 3"),  # something follows
        (b"property list uchar int vertex_indices", b"property list uchar float vertex_indices"),
        (b"\x03" + bytes(4), b"\x04" + bytes(4)),  # four corners
        (b"\x03\x00\x00\x00\x00", b"\x03\x00\x01\x00\x00"),  # an index beyond the vertices
        (b"binary_little", b"binary_none"),
    ],
)
def test_any_other_ply_is_left_to_trimesh(tmp_path: Path, old: bytes, new: bytes) -> None:
    path = tmp_path / "x.ply"
    content = trimesh.Trimesh(np.eye(4)[:, :3], [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]).export(file_type="ply")
    assert old in content
    path.write_bytes(content)
    assert ply_mesh.read(path) is not None
    path.write_bytes(content.replace(old, new, 1))
    assert ply_mesh.read(path) is None


def test_size_and_the_upward_axis(tmp_path: Path) -> None:
    path = written(tmp_path, box().apply_translation((5.0, 6.0, 7.0)))
    positions = read(path, 0.0, "y", 40.0).positions
    assert np.allclose(np.ptp(positions, axis=0), (1, 2, 4)) and np.allclose(positions.mean(axis=0), 0, atol=1e-6)
    turned = read(path, 8.0, "z", 40.0)
    assert np.allclose(np.ptp(turned.positions, axis=0), (2, 8, 4), atol=1e-5)
    assert (np.sum(turned.normals * turned.positions, axis=1) > 0).all()  # turned, not mirrored
    corners = turned.positions[turned.index]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (np.sum(across * corners.mean(axis=1), axis=1) > 0).all()


def test_a_ball_is_smooth_and_a_crease_is_not(tmp_path: Path) -> None:
    ball = trimesh.creation.icosphere(subdivisions=3)
    smooth = read(written(tmp_path, ball), 2.0, "y", 40.0)
    assert len(smooth.positions) == len(ball.vertices)
    assert np.abs(smooth.normals - smooth.positions).max() < 0.01
    flat = read(written(tmp_path, ball), 2.0, "y", 0.0)
    assert len(flat.positions) == 3 * len(ball.faces)
    assert len(read(written(tmp_path, box()), 2.0, "y", 91.0).positions) == 8


def test_normals_around_a_vertex_of_very_many_triangles() -> None:
    turn = np.linspace(0, 2 * np.pi, 201)[:-1]
    points = np.concatenate([[(0, 0.5, 0)], np.stack([np.cos(turn), 0 * turn, -np.sin(turn)], axis=-1)])
    index = np.stack([np.zeros(200, int), 1 + np.arange(200), 1 + (np.arange(200) + 1) % 200], axis=-1)
    vertex, normals, triangles = split_at_creases(points, index, 5.0)
    tip = np.unique(triangles[:, 0])
    assert len(tip) == 1 and np.allclose(normals[tip[0]], (0, 1, 0), atol=1e-6)
    assert len(vertex) == 201 and (normals[:, 1] > 0).all()


def test_invalid_triangles_are_dropped_and_counted(tmp_path: Path) -> None:
    mesh = box()
    points = np.concatenate([mesh.vertices, [(np.nan, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 2)]])
    index = np.concatenate([mesh.faces, [(0, 1, 8), (9, 10, 11)]])
    path = tmp_path / "x.obj"
    lines = [f"v {x} {y} {z}" for x, y, z in points] + ["f " + " ".join(str(i + 1) for i in row) for row in index]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read(path, 0.0, "y", 40.0)
    assert len(found.index) == 12 and found.dropped >= 1  # trimesh itself leaves some out
    assert np.isfinite(found.positions).all() and np.allclose(np.ptp(found.positions, axis=0), (1, 2, 4))


def test_triangles_without_area_are_dropped_at_any_position(tmp_path: Path) -> None:
    rows = ["1 5 0", "1 5 1", "1 5 2", "3 0 0", "4 0 0", "3 1 0", "-3 0 1", "-4 0 1", "-3 0 2"]
    path = tmp_path / "x.ply"
    header = ["ply", "format ascii 1.0", "element vertex 9", *(f"property double {name}" for name in "xyz")]
    header += ["element face 3", "property list uchar int vertex_indices", "end_header"]
    path.write_text("\n".join([*header, *rows, "3 0 1 2", "3 3 4 5", "3 6 7 8", ""]), encoding="ascii")
    found = read(path, 0.0, "y", 40.0)
    assert (len(found.index), found.dropped, len(found.positions)) == (2, 1, 6)
    assert sorted(found.normals[found.index[:, 0]].round(5).tolist()) == [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]


@pytest.mark.parametrize("scale", [1e-100, 1e-20, 1.0, 1e30])
def test_normals_of_a_mesh_of_any_size_are_those_of_its_shape(tmp_path: Path, scale: float) -> None:
    ball = trimesh.creation.icosphere(2, 1.0)
    vertex, normals, _ = split_at_creases(ball.vertices * scale, np.asarray(ball.faces), 40.0)
    assert np.abs(normals - ball.vertices).max() < 0.02 and len(vertex) == len(normals) == len(ball.vertices)


@pytest.mark.parametrize("crease", [0.0, 40.0, 180.0])
@pytest.mark.parametrize("far", [1e16, 1e20, 1e60])
def test_normals_of_a_part_of_negligible_size_are_unit_vectors(tmp_path: Path, far: float, crease: float) -> None:
    """A small box and one corner that is very far away: after rounding the box has no extent."""
    mesh = box()
    points = np.concatenate([mesh.vertices, [(far, 0, 0), (far, far, 0), (0, far, far)]])
    index = np.concatenate([mesh.faces, [(8, 9, 10), (0, 9, 10)]])
    path = tmp_path / "x.obj"
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()] + [f"f {a} {b} {c}" for a, b, c in index + 1]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read(path, 2.0, "y", crease)
    assert np.isfinite(found.positions).all()
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, atol=1e-6)
    large = found.index[(np.abs(np.ptp(found.positions[found.index], axis=1)) > 0.5).any(axis=1)]
    assert len(large) == 2
    if crease == 0.0:
        for corners in large:
            a, b, c = found.positions[corners].astype(float)
            flat = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
            np.testing.assert_allclose(found.normals[corners], np.broadcast_to(flat, (3, 3)), atol=1e-5)


def test_coordinates_beyond_float32_need_a_size(tmp_path: Path) -> None:
    path = tmp_path / "x.obj"
    path.write_text("v 0 0 0\nv 1e40 0 0\nv 0 1e40 0\nf 1 2 3\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"x\.obj: coordinates reach 5e\+39, beyond float32"):
        read(path, 0.0, "y", 40.0)
    assert np.ptp(read(path, 2.0, "y", 40.0).positions, axis=0).tolist() == [2.0, 2.0, 0.0]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.obj", b"]["),
        ("a.stl", b"solid nothing\nendsolid nothing\n"),
        ("a.ply", b"ply\nformat ascii 1.0\nend_header\n"),
        ("a.glb", b"glTF but not really"),
        ("a.obj", b"v 0 0 0\nv 1 1 1\nv 2 2 2\nf 1 2 3\n"),
        ("a.ply", b""),
    ],
)
def test_a_file_without_triangles_is_refused_by_its_name(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        read(tmp_path / name, 2.0, "y", 40.0)


def gltf(path: Path, data: str, image: str = "") -> Path:
    """A triangle in glTF whose vertices are in the file `data`, and whose texture is in `image`, if it has one."""
    tree: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "buffers": [{"uri": data, "byteLength": 36}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}} if image else {}}],
        "images": [{"uri": image}] if image else [],
        "textures": [{"source": 0}] if image else [],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
    }
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


@pytest.fixture
def cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the data of a triangle, inside one with the same data and an image, which must not be opened."""
    folder, triangle = tmp_path / "folder", np.float32([[0, 0, 0], [1, 0, 0], [0, 1, 0]]).tobytes()
    folder.mkdir()
    (folder / "inside.bin").write_bytes(triangle)
    (tmp_path / "outside.bin").write_bytes(triangle)
    Image.new("RGB", (2, 2)).save(tmp_path / "outside.png")
    (folder / "link.bin").symlink_to(tmp_path / "outside.bin")
    opened, open_ = [], builtins.open

    def noted(file: Any, *rest: Any, **options: Any) -> Any:
        opened.append(file)
        return open_(file, *rest, **options)

    monkeypatch.setattr(builtins, "open", noted)
    yield folder
    names = [os.path.realpath(file) for file in opened if isinstance(file, str | os.PathLike)]
    assert f"{folder}/a.gltf" in names and not [name for name in names if "outside" in name]


@pytest.mark.parametrize(
    "location",
    [
        "../outside.bin",
        "x/../../outside.bin",
        "{outside}/outside.bin",
        "file://{outside}/outside.bin",
        "..%2Foutside.bin",
        "link.bin",
    ],
)
def test_a_gltf_file_reads_nothing_outside_of_its_folder(cache_folder: Path, location: str) -> None:
    file = gltf(cache_folder / "a.gltf", location.format(outside=cache_folder.parent))
    with pytest.raises(InputError, match=r"a\.gltf: not a readable mesh"):
        read(file, 2.0, "y", 40.0)


@pytest.mark.parametrize("image", ["", "../outside.png"])
def test_a_gltf_file_reads_files_in_its_folder(cache_folder: Path, image: str) -> None:
    """A texture of another folder is ignored, as all textures are."""
    assert len(read(gltf(cache_folder / "a.gltf", "inside.bin", image), 2.0, "y", 40.0).index) == 1


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read(tmp_path / "none.ply", 2.0, "y", 40.0)


# distances ----------------------------------------------------------------------------------------------------------


def sampled(mesh: MeshFile, side: int, reach: float) -> np.ndarray:
    with Tensor.empty((side,) * 3) as out:
        sample(mesh, reach, out)
        return out.numpy().ravel()


def test_distances_of_a_box(steady: Gpu, tmp_path: Path) -> None:
    mesh = read(written(tmp_path, box()), 0.0, "y", 40.0)
    beyond = np.abs(lattice(13, 2.5)) - (0.5, 1.0, 2.0)
    exact = np.linalg.norm(np.maximum(beyond, 0), axis=1) + np.minimum(beyond.max(axis=1), 0)
    assert np.abs(sampled(mesh, 13, 2.5) - exact).max() < 1e-5


def test_distances_of_a_ball_in_several_parts(steady: Gpu, tmp_path: Path) -> None:
    ball = trimesh.creation.icosphere(subdivisions=3)  # 1280 triangles: more than one dispatch
    mesh = read(written(tmp_path, ball), 2.0, "y", 40.0)
    points = lattice(9, 1.5)
    exact = np.linalg.norm(points, axis=1) - 1.0
    got = sampled(mesh, 9, 1.5)
    assert np.abs(got - exact).max() < 0.012  # the facets are inside the ball
    assert np.allclose(got, distances(mesh, points), atol=2e-6)


def test_a_hole_does_not_change_the_sign(steady: Gpu, tmp_path: Path) -> None:
    """The winding number requires no closed mesh: a ball with a few missing triangles still has an inside."""
    ball = trimesh.creation.icosphere(subdivisions=2)
    ball.update_faces(np.arange(len(ball.faces)) > 6)
    got = sampled(read(written(tmp_path, ball), 2.0, "y", 40.0), 9, 1.5)
    radius = np.linalg.norm(lattice(9, 1.5), axis=1)
    clear = np.abs(radius - 1.0) > 0.35
    assert ((got < 0) == (radius < 1.0))[clear].all()


def test_a_bowl_is_full_up_to_its_rim(steady: Gpu, tmp_path: Path) -> None:
    """Half a ball, open at the top: the winding number at a point on its axis is the bowl's solid angle over 4π."""
    ball = trimesh.creation.icosphere(subdivisions=3)
    ball.update_faces(ball.triangles_center[:, 1] < 0.0)
    mesh = read(written(tmp_path, ball), 0.0, "y", 40.0)
    axis = sampled(mesh, 9, 1.0).reshape(9, 9, 9)[4, :, 4]  # the center of the bowl is the origin: its rim is at 0.5
    assert (np.linspace(-1, 1, 9)[axis < 0] == [-0.25, 0.0, 0.25]).all()


def test_the_orientation_of_triangles_does_not_matter(steady: Gpu, tmp_path: Path) -> None:
    mesh = read(written(tmp_path, box()), 0.0, "y", 40.0)
    turned = mesh._replace(index=np.ascontiguousarray(mesh.index[:, ::-1]))
    assert np.allclose(sampled(mesh, 7, 2.5), sampled(turned, 7, 2.5), atol=1e-6)


# the model, and scenes ----------------------------------------------------------------------------------------------


def test_the_model(steady: Gpu, tmp_path: Path) -> None:
    params = Params(file=written(tmp_path, box()), sdf_resolution=6)
    specs, model = Mesh.output_specs(params), Mesh("body", params, {}, 0)
    try:
        outputs = model.outputs()
        assert {name: (spec.shape, spec.dtype) for name, spec in specs.items()} == {
            name: (tensor.shape, tensor.dtype.name) for name, tensor in outputs.items()
        }
        model.step(0.1)
        assert all(comparison.holds for comparison in model.compare_with_reference())
        with model.diagnostics()["highest"] as highest:
            assert highest.item() == pytest.approx(0.5)
    finally:
        model.close()
    assert "distance" not in Mesh.output_specs(Params(file=params.file))


def test_the_packaged_knot_is_closed() -> None:
    """Every edge of the packaged mesh belongs to two triangles, which traverse it in opposite directions."""
    mesh = trimesh.load_mesh(resources.path("assets", "data", "knot.ply"))
    assert mesh.is_watertight and mesh.is_winding_consistent and mesh.volume > 0
    assert mesh.euler_number == 0  # of a closed tube


@pytest.mark.parametrize("suffix", [".stl", ".off"])
def test_a_mesh_file_opens_as_a_scene(steady: Gpu, tmp_path: Path, suffix: str) -> None:
    path = written(tmp_path, box(), suffix)
    scene = load(path)
    assert scene.title == "some mesh" and str(scene.layers["mesh"].attributes["index"]) == "mesh.index"
    assert scene.models["mesh"].params.up == ("z" if suffix == ".stl" else "y")
    session = Session(steady, path)
    session.close()
    with pytest.raises(InputError, match="is a data file, not a scene file"):
        refuse_protected(path)
    path.write_bytes(b"no more")
    with pytest.raises((InputError, SceneError), match="some mesh"):
        load(path)
