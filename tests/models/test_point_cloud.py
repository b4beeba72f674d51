"""Points from files: positions, colors and their scale, and reports of ignored data."""

from __future__ import annotations

import logging
import sys
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

from ..fuzz import scans

LAS_COLUMNS = (
    *("return_number", "number_of_returns", "synthetic", "key_point", "withheld", "overlap", "scanner_channel"),
    *("scan_direction_flag", "edge_of_flight_line", "user_data", "scan_angle", "point_source_id", "gps_time"),
)
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
        assert np.allclose(found.colors, found.positions[:, 1])  # heights
    else:
        assert np.allclose(found.colors, BYTES / 255, atol=1e-6)


@pytest.mark.parametrize("name", scans.POINT_NAMES)
def test_each_format_has_the_same_points_whose_large_coordinates_keep_their_precision(
    tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(scans.point_files()[name])
    assert {spec.type for spec in load(path).models.values()} == {"point_cloud"}
    found = point_file.read(path, 0.0, "y")
    low, high = scans.XYZ.min(axis=0), scans.XYZ.max(axis=0)
    assert np.abs(found.positions - (scans.XYZ - 0.5 * (low + high))).max() < 1e-5  # float32 has steps of 0.5 at 5.4e6
    assert np.allclose(found.center, 0.5 * (low + high), atol=1e-9, rtol=0)
    assert np.allclose(found.colors, scans.RGB / 255, atol=1e-6)
    assert set(point_file.choices(path)) == {"auto", "height", "colors", "classification", "intensity"} | (
        set(LAS_COLUMNS) if path.suffix in (".las", ".laz") else set()
    )
    by_intensity = point_file.read(path, 0.0, "y", "intensity").colors
    assert np.array_equal(by_intensity, scans.INTENSITY)
    shades = point_file.read(path, 0.0, "y", "classification").colors
    assert len(np.unique(shades, axis=0)) == len(np.unique(scans.CLASSES)), "a color for each class"
    with pytest.raises(InputError, match=r"unknown column \"intensty\"; did you mean \"intensity\""):
        point_file.read(path, 0.0, "y", "intensty")


def test_normals_become_an_output_and_colors_and_turn_with_the_axes(tmp_path: Path, steady: Gpu) -> None:
    normals = RNG.normal(size=(20, 3)) * 3.0
    path = tmp_path / "a.npz"
    np.savez(path, points=POSITIONS, normals=normals, time=1.7e9 + np.arange(20.0))
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    cloud = PointCloud("cloud", Params(file=path, up="z", color="normals"), {}, 0)
    found = cloud.outputs()["normal"].numpy()
    assert np.allclose(found, unit[:, [0, 2, 1]] * (1, 1, -1), atol=1e-6)
    assert np.allclose(cloud.outputs()["color"].numpy(), 0.5 + 0.5 * found, atol=1e-6)
    assert list(PointCloud.choices(Params(file=path))["color"]) == ["auto", "height", "normals", "time"]
    cloud.close()
    times = point_file.read(path, 0.0, "y", "time").colors
    assert np.array_equal(times, np.arange(20.0)), "float32 has steps of 128 there: counted from the first"


def test_a_package_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, package in (("a.las", "laspy"), ("b.laz", "lazrs"), ("a.csv", "pyarrow"), ("a.parquet", "pyarrow")):
        path = tmp_path / name
        path.write_bytes(scans.point_files()[f"a{path.suffix}"])
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.setitem(sys.modules, f"{package}.csv", None)
        with pytest.raises(InputError, match=rf'{package}.*pip install "vertigrad\[scans\]"'):
            point_file.read(path, 0.0, "y")
        monkeypatch.undo()


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
    assert np.allclose(colors, np.delete(BYTES, 3, axis=0) / 255)
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
