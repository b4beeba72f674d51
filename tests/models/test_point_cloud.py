"""Points from files: positions, colors and their scale, and reports of ignored data."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import array_file, mesh_file, point_file
from vertigrad.models.data.mesh import Mesh
from vertigrad.models.data.mesh import Params as MeshParams
from vertigrad.models.data.point_cloud import Params, PointCloud
from vertigrad.scene import load

RNG = np.random.default_rng(5)
POSITIONS = RNG.uniform(-1, 1, (20, 3)).astype(np.float32)
BYTES = RNG.integers(0, 256, (20, 3)).astype(np.uint8)


def ply(path: Path, positions: np.ndarray = POSITIONS, colors: np.ndarray | None = BYTES) -> Path:
    names = ["red", "green", "blue"] if colors is not None else []
    rows = np.zeros(len(positions), [*((axis, "<f4") for axis in "xyz"), *((name, "u1") for name in names)])
    for axis, column in zip("xyz", positions.T, strict=True):
        rows[axis] = column
    for name, column in zip(names, () if colors is None else colors.T, strict=True):
        rows[name] = column
    head = [f"property float {axis}" for axis in "xyz"] + [f"property uchar {name}" for name in names]
    lines = ["ply", "format binary_little_endian 1.0", f"element vertex {len(positions)}", *head, "end_header", ""]
    path.write_bytes("\n".join(lines).encode() + rows.tobytes())
    return path


def middled(positions: np.ndarray) -> np.ndarray:
    low, high = positions.min(axis=0), positions.max(axis=0)
    return (positions - 0.5 * (low + high)) * 2.0 / (high - low).max()


def test_a_ply_without_faces_opens_as_points_with_their_colors(tmp_path: Path, steady: Gpu) -> None:
    path = ply(tmp_path / "scan.ply")
    scene = load(path)
    assert [spec.type for spec in scene.models.values()] == ["point_cloud"]
    assert [spec.type for spec in scene.layers.values()] == ["marks"]  # shown in their own colors
    cloud = PointCloud("cloud", Params(file=path), {}, 0)
    assert np.allclose(cloud.outputs()["position"].numpy(), middled(POSITIONS), atol=1e-6)
    assert np.array_equal(np.round(255 * cloud.outputs()["color"].numpy()), BYTES)
    assert all(one.holds for one in cloud.compare_with_reference())
    cloud.close()
    plain = load(ply(tmp_path / "plain.ply", colors=None))
    assert [spec.type for spec in plain.layers.values()] == ["points"]


def arrays(kind: str) -> dict[str, np.ndarray]:
    unit = BYTES / np.float32(255)
    return {
        "n3": {"a": POSITIONS},
        "n6": {"a": np.concatenate([POSITIONS, unit], axis=1)},
        "n6 of bytes": {"a": np.concatenate([POSITIONS, BYTES], axis=1)},
        "bytes": {"position": POSITIONS, "color": BYTES},
        "wide": {"position": POSITIONS, "color": BYTES.astype(np.uint16) * 257},
        "int64": {"points": POSITIONS, "colors": BYTES.astype(np.int64)},
        "unit": {"xyz": POSITIONS, "rgb": unit},
    }[kind]


@pytest.mark.parametrize("kind", ["n3", "n6", "n6 of bytes", "bytes", "wide", "int64", "unit"])
def test_arrays_are_points_and_colors_of_any_type_are_scaled(tmp_path: Path, kind: str) -> None:
    source = arrays(kind)
    path = tmp_path / ("a.npy" if "a" in source else "a.npz")
    if "a" in source:
        np.save(path, source["a"])
    else:
        np.savez(path, **source)  # pyright: ignore[reportArgumentType]
    assert [spec.type for spec in load(path).models.values()] == ["point_cloud"]
    found = point_file.read(path, 2.0, "y")
    assert np.allclose(found.positions, middled(POSITIONS), atol=1e-6)
    if kind == "n3":
        assert found.colors is None
    else:
        assert found.colors is not None and np.allclose(found.colors, BYTES / 255, atol=1e-6)


def test_size_axis_and_rows_that_are_not_finite(tmp_path: Path) -> None:
    positions = POSITIONS.copy()
    positions[3, 1] = np.nan
    np.save(tmp_path / "a.npy", positions)
    found = point_file.read(tmp_path / "a.npy", 0.0, "z")
    saved = np.delete(positions, 3, axis=0)
    saved = saved - 0.5 * (saved.min(axis=0) + saved.max(axis=0))
    assert found.dropped == 1 and np.allclose(found.positions, saved[:, [0, 2, 1]] * (1, 1, -1), atol=1e-6)
    np.savez(tmp_path / "colored.npz", position=positions, color=BYTES)
    colors = point_file.read(tmp_path / "colored.npz", 0.0, "y").colors
    assert colors is not None and np.allclose(colors, np.delete(BYTES, 3, axis=0) / 255)
    np.save(tmp_path / "b.npy", np.full((4, 3), np.nan))
    with pytest.raises(InputError, match="no point with a finite position, of 4"):
        point_file.read(tmp_path / "b.npy", 0.0, "y")
    np.savez(tmp_path / "c.npz", position=POSITIONS, color=BYTES[:7])
    with pytest.raises(InputError, match=r"expected colors of shape \(20, 3\), got \(7, 3\)"):
        point_file.read(tmp_path / "c.npz", 0.0, "y")


def test_colors_of_an_array_are_scaled_and_other_numbers_are_not(tmp_path: Path) -> None:
    for array, factor in (
        (BYTES, 255),
        (BYTES.astype(np.uint16), 65535),
        (BYTES.astype(np.int32), 1),
        (BYTES[:, :2], 1),
    ):
        np.save(tmp_path / "a.npy", array)
        assert np.allclose(array_file.read(tmp_path / "a.npy"), array / factor)


def test_a_mesh_has_the_colors_of_its_vertices(tmp_path: Path, steady: Gpu) -> None:
    box = trimesh.creation.box()
    alone = [[-5.0, -5.0, -5.0], [-6.0, -6.0, -6.0]]  # of a triangle without area, which come first and are dropped
    box = trimesh.Trimesh([*alone, *box.vertices], [[0, 1, 0], *(box.faces + 2)], process=False)
    colors = np.concatenate([RNG.integers(0, 256, (10, 3)), np.full((10, 1), 255)], axis=1).astype(np.uint8)
    box.visual = trimesh.visual.ColorVisuals(box, vertex_colors=colors)  # pyright: ignore
    path = tmp_path / "box.ply"
    box.export(path)
    mesh = Mesh("mesh", MeshParams(file=path, size=0.0, crease=10.0), {}, 0)
    position, color = (mesh.outputs()[name].numpy() for name in ("position", "color"))
    assert len(position) == 24  # split at the edges
    for point, shade in zip(position, color, strict=True):
        nearest = int(np.argmin(np.linalg.norm(np.asarray(box.vertices) - point, axis=1)))
        assert np.array_equal(np.round(255 * shade), colors[nearest, :3])
    mesh.close()
    layer = next(iter(load(path).layers.values()))
    assert "'color': OutputRef(model='mesh', output='color')" in str(layer)
    assert "color" not in Mesh.output_specs(MeshParams())


def test_ignored_data_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    box = trimesh.creation.box()
    box.export(tmp_path / "plain.glb")
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 0, 255])  # pyright: ignore
    box.visual = trimesh.visual.TextureVisuals(material=material)  # pyright: ignore
    box.export(tmp_path / "material.glb")
    image = Image.new("RGB", (4, 4), (255, 0, 0))
    box.visual = trimesh.visual.TextureVisuals(uv=RNG.uniform(0, 1, (8, 2)), image=image)  # pyright: ignore
    box.export(tmp_path / "texture.glb")
    with caplog.at_level(logging.WARNING, "vertigrad"):
        for name in ("plain", "material", "texture"):
            mesh_file.read(tmp_path / f"{name}.glb", 1.0, "y", 40.0)
    assert [record.message.rpartition("/")[2] for record in caplog.records] == [
        "material.glb: its materials are left out: the mesh has the color of its layer",
        "texture.glb: its textures and materials are left out: the mesh has the color of its layer",
    ]
