"""Exported layers, as arrays and as files that other libraries read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import trimesh

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.export import Geometry, geometry, write_layers
from vertigrad.gpu import Gpu
from vertigrad.models.data import ply
from vertigrad.renderer.colormap import colormap_colors

SIZE = (96, 64)
RANDOM = np.random.default_rng(5)
POINTS = RANDOM.uniform(-1, 1, (40, 3)).astype(np.float32)
COLORS = RANDOM.random((40, 3)).astype(np.float32)
TRIANGLES = np.array([[0, 1, 2], [2, 1, 3], [10, 11, 12]], np.uint32)
LATTICE = np.linspace(-1, 1, 20, dtype=np.float32)
Z, Y, X = np.meshgrid(LATTICE, LATTICE, LATTICE, indexing="ij")
RADIUS = 0.7


@pytest.fixture
def viewer(steady: Gpu) -> Iterator[vg.Viewer]:
    with vg.Viewer("test", SIZE, offscreen=True) as viewer:
        yield viewer


def drawn(viewer: vg.Viewer, name: str) -> Geometry:
    return geometry(viewer.session.stage.layers[name])


def as_bytes(colors: np.ndarray) -> np.ndarray:
    return np.round(colors * 255).astype(np.uint8)


def light(colors: np.ndarray) -> np.ndarray:
    return np.where(colors <= 0.04045, colors / 12.92, ((colors + 0.055) / 1.055) ** 2.4)


# points and surfaces --------------------------------------------------------------------------------------------------


def test_a_ply_of_points_has_every_row_exactly(viewer: vg.Viewer, tmp_path: Path) -> None:
    sizes = RANDOM.uniform(0.01, 0.1, 40).astype(np.float32)
    cloud = viewer.points("cloud", position=POINTS, color=COLORS, size=sizes)
    cloud.save(tmp_path / "a.ply")
    found = trimesh.load(tmp_path / "a.ply")
    assert np.array_equal(found.vertices.astype(np.float32), POINTS)
    assert np.array_equal(found.colors[:, :3], as_bytes(COLORS))
    path = tmp_path / "a.ply"
    assert np.array_equal(ply.vertices(path, ply.header(path))["radius"], sizes)


def test_scalars_are_written_with_the_colors_of_the_colormap(viewer: vg.Viewer, tmp_path: Path) -> None:
    scalars = np.array([-1.0, 0.0, 1.0, 5.0, np.nan], np.float32)
    viewer.points("auto", position=POINTS[:5], color=scalars, colormap="viridis")
    viewer.points(
        "fixed", position=POINTS[:5], color=scalars, colormap="viridis", range=(-1.0, 1.0), colormap_flip=True
    )
    table = colormap_colors("viridis")[:, :3]
    auto, fixed = drawn(viewer, "auto"), drawn(viewer, "fixed")
    assert np.array_equal(auto.scalars[:4], scalars[:4])
    assert np.array_equal(as_bytes(auto.colors[[0, 3]]), table[[0, -1]])
    assert np.array_equal(as_bytes(fixed.colors[[0, 2, 3]]), table[[-1, 0, 0]])
    viewer.export(tmp_path / "a.ply", "auto")
    rows = ply.vertices(tmp_path / "a.ply", ply.header(tmp_path / "a.ply"))
    assert np.array_equal(rows["scalar"], scalars, equal_nan=True)


@pytest.mark.parametrize("suffix", [".ply", ".glb"])
def test_a_surface_is_read_back_exactly(viewer: vg.Viewer, tmp_path: Path, suffix: str) -> None:
    normals = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    sheet = viewer.surface("sheet", position=POINTS, index=TRIANGLES, normal=normals, color=COLORS)
    path = sheet.save(tmp_path / f"a{suffix}")
    (mesh,) = trimesh.load_scene(path, process=False).geometry.values()
    assert np.array_equal(mesh.vertices.astype(np.float32), POINTS)
    assert np.array_equal(mesh.faces, TRIANGLES)
    assert np.allclose(mesh.vertex_normals, normals, atol=1e-6)
    if suffix == ".glb":
        assert np.allclose(mesh.visual.vertex_attributes["color"], light(COLORS), atol=1e-6)
    else:
        assert np.array_equal(mesh.visual.vertex_colors[:, :3], as_bytes(COLORS))


@pytest.mark.filterwarnings("ignore::RuntimeWarning:trimesh")  # for triangles without texture coordinates
def test_a_surface_as_obj_has_the_same_triangles(viewer: vg.Viewer, tmp_path: Path) -> None:
    normals = POINTS / np.linalg.norm(POINTS, axis=1, keepdims=True)
    sheet = viewer.surface("sheet", position=POINTS, index=TRIANGLES, normal=normals, color=COLORS)
    path = sheet.save(tmp_path / "a.obj")
    (mesh,) = trimesh.load_scene(path, process=False).geometry.values()
    assert np.array_equal(np.asarray(mesh.triangles, np.float32), POINTS[TRIANGLES])
    assert np.allclose(mesh.vertex_normals[mesh.faces], normals[TRIANGLES], atol=1e-6)
    vertices = np.array([line.split()[1:] for line in path.read_text().splitlines() if line.startswith("v ")], float)
    assert np.allclose(vertices[:, 3:], COLORS, atol=1e-6)


def test_rows_and_triangles_that_are_not_drawn_are_omitted(viewer: vg.Viewer) -> None:
    holes = POINTS.copy()
    holes[1], holes[5] = np.nan, np.inf
    index = np.array([[0, 1, 2], [2, 3, 4], [4, 6, 99]], np.uint32)
    with vg.Tensor.from_numpy(index, "index") as unchecked:  # arrays are checked, what the GPU has is not
        viewer.surface("sheet", position=holes, index=unchecked)
        found = drawn(viewer, "sheet")
    assert np.array_equal(found.positions, np.delete(POINTS, [1, 5], axis=0))
    assert np.array_equal(found.positions[found.index], POINTS[[[2, 3, 4]]])


# computed geometry ------------------------------------------------------------------------------------------------


def test_an_isosurface_of_a_distance_is_a_closed_sphere(viewer: vg.Viewer, tmp_path: Path) -> None:
    distance = np.sqrt(X * X + Y * Y + Z * Z)
    box = {"low": (-1.0, -1.0, -1.0), "high": (1.0, 1.0, 1.0)}
    viewer.isosurface("ball", values=distance, level=RADIUS, color=X, **box)
    found = drawn(viewer, "ball")
    assert np.abs(np.linalg.norm(found.positions, axis=1) - RADIUS).max() < 0.01
    assert np.abs(found.normals - found.positions / RADIUS).max() < 0.05
    assert np.allclose(found.scalars, found.positions[:, 0], atol=1e-6), "trilinear in a field that is linear"
    viewer.export(tmp_path / "a.glb")
    mesh = trimesh.load(tmp_path / "a.glb", force="mesh", process=False)
    assert mesh.is_watertight and mesh.volume == pytest.approx(4 / 3 * np.pi * RADIUS**3, rel=0.02), "faces outward"


def test_a_liquid_is_closed_and_has_the_volume_of_its_particles(viewer: vg.Viewer, tmp_path: Path) -> None:
    """A basin, a ball above it and a second one near it: (2 size)³ for each particle; drops alone have some less."""
    spacing = 0.1
    lattice = spacing * np.stack(np.meshgrid(*3 * [np.arange(-12, 13)], indexing="ij"), -1).reshape(-1, 3)
    x, y, z = lattice.T
    ball = lattice[x * x + y * y + z * z < 0.5**2] + np.array([0.0, 1.6, 0.0])
    basin = lattice[(y < 0.35) & (y > -0.35)]
    water = np.concatenate([basin, ball, ball + np.array([1.35, 0.0, 0.0])])
    water = (water + RANDOM.uniform(-0.1, 0.1, water.shape) * spacing).astype(np.float32)
    water[7] = np.nan
    viewer.liquid("water", position=water, size=0.5 * spacing)
    viewer.export(tmp_path / "a.obj", "water")
    mesh = trimesh.load(tmp_path / "a.obj", force="mesh", process=False)
    assert mesh.is_watertight and mesh.body_count == 3
    assert mesh.volume == pytest.approx((len(water) - 1) * spacing**3, rel=0.03), "faces outward"
    assert np.isclose(mesh.bounds[0, 1], -0.3 - 0.5 * spacing, atol=0.25 * spacing)
    viewer.liquid("dry", position=np.full((2, 3), np.nan, np.float32))
    assert not len(drawn(viewer, "dry").positions)


def test_cells_that_are_not_finite_have_no_isosurface(viewer: vg.Viewer) -> None:
    distance = np.sqrt(X * X + Y * Y + Z * Z)
    distance[10:] = np.nan
    viewer.isosurface("half", values=distance, level=RADIUS)
    assert drawn(viewer, "half").positions[:, 2].max() <= 0.0


def test_instances_are_meshes_at_their_positions(viewer: vg.Viewer) -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0]], np.float32)
    quarter = np.array([[0, 0, 0.5**0.5, 0.5**0.5], [0, 0, 0, 2]], np.float32)  # about z; and none
    viewer.instances(
        "two", position=POINTS[:2], direction=quarter, size=0.5, mesh=corners, index=TRIANGLES[:1], color=COLORS[:2]
    )
    found = drawn(viewer, "two")
    turned = 0.5 * np.array([[0, 0, 0], [0, 1, 0], [-2, 0, 0]])
    assert np.allclose(found.positions, np.concatenate([POINTS[0] + turned, POINTS[1] + 0.5 * corners]), atol=1e-6)
    assert np.array_equal(found.index, [[0, 1, 2], [3, 4, 5]])
    assert np.array_equal(found.colors, np.repeat(COLORS[:2], 3, axis=0))


def test_arrows_reach_from_their_positions_along_their_directions(viewer: vg.Viewer) -> None:
    along = np.array([[0, 0, 2], [np.nan, 0, 0], [1, 0, 0]], np.float32)
    viewer.arrows("arrows", position=POINTS[:3], direction=along, scale=0.5)
    found = drawn(viewer, "arrows")
    assert np.isfinite(found.positions).all() and len(found.positions) % 2 == 0, "the one without a length is left out"
    first, second = np.split(found.positions, 2)
    assert (first - POINTS[0])[:, 2].max() == pytest.approx(1.0, abs=1e-6)
    assert (second - POINTS[2])[:, 0].max() == pytest.approx(0.5, abs=1e-6)
    assert (second - POINTS[2])[:, 0].min() == pytest.approx(0.0, abs=1e-6)


def test_trails_are_the_positions_of_the_last_frames(viewer: vg.Viewer, tmp_path: Path) -> None:
    path = [POINTS[:2] + np.float32(0.1) * frame for frame in range(4)]
    trails = viewer.trails("trails", position=path[0])
    for frame, _ in enumerate(viewer.frames(4)):
        trails.position = path[frame]
    found = drawn(viewer, "trails")
    rows = np.stack(path, axis=1)
    assert np.array_equal(found.positions.reshape(2, -1, 3)[:, -3:], rows[:, -3:])
    assert len(found.index) == 2 * (len(found.positions) // 2 - 1)


def test_lines_have_their_own_ends(viewer: vg.Viewer, tmp_path: Path) -> None:
    viewer.lines("two", position=POINTS.reshape(2, 20, 3))
    viewer.streamlines("flow", vectors=np.ones((3, 3, 3, 3), np.float32))
    viewer.update()
    found = drawn(viewer, "two")
    assert len(found.index) == 38 and not (found.index == [19, 20]).all(axis=1).any()
    flow = drawn(viewer, "flow")
    steps = np.diff(flow.positions[flow.index], axis=1)[:, 0]
    assert np.allclose(np.cross(steps, (1, 1, 1)), 0.0, atol=1e-5) and len(steps) > 100
    viewer.export(tmp_path / "a.glb", "two")
    (lines,) = trimesh.load_scene(tmp_path / "a.glb").geometry.values()
    assert np.array_equal(lines.vertices.astype(np.float32), POINTS)


# files and bad input --------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::RuntimeWarning:trimesh")  # for triangles without texture coordinates
@pytest.mark.parametrize("suffix", [".obj", ".glb"])
def test_layers_of_several_kinds_share_a_file(viewer: vg.Viewer, tmp_path: Path, suffix: str) -> None:
    viewer.points("cloud", position=POINTS)
    viewer.surface("first", position=POINTS, index=TRIANGLES)
    viewer.surface("second", position=POINTS[:3] + 1, index=TRIANGLES[:1], normal=POINTS[:3])
    path = viewer.export(tmp_path / f"a{suffix}")
    found = trimesh.load_scene(path, process=False).geometry
    meshes = [one for one in found.values() if isinstance(one, trimesh.Trimesh)]
    triangles = np.concatenate([mesh.triangles.reshape(-1, 9) for mesh in meshes]).astype(np.float32)
    expected = np.concatenate([POINTS[TRIANGLES].reshape(-1, 9), (POINTS[:3] + np.float32(1)).reshape(1, 9)])
    assert np.array_equal(np.sort(triangles, axis=0), np.sort(expected, axis=0))
    if suffix == ".glb":
        assert list(found) == ["cloud", "first", "second"]
    else:
        lines = path.read_text().splitlines()
        assert [line for line in lines if line.startswith("o ")] == ["o cloud", "o first", "o second"]
        assert sum(line.startswith("p ") for line in lines) == len(POINTS)


def test_a_scene_with_z_up_is_upright_in_gltf(viewer: vg.Viewer, tmp_path: Path) -> None:
    viewer.camera(up="z", position=(0.0, -5.0, 0.0))
    viewer.surface("sheet", position=POINTS, index=TRIANGLES)
    mesh = trimesh.load_scene(viewer.export(tmp_path / "a.glb"), process=False).to_mesh()
    assert np.allclose(mesh.vertices, POINTS @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]]), atol=1e-6)


@pytest.mark.parametrize(
    ("name", "layers", "message"),
    [
        ("a.stl", (), r"a\.stl: geometry is written as \.ply, \.obj, \.glb, \.splat, \.spz, not as \.stl"),
        ("a", (), "not as no suffix"),
        ("a.ply", (), r"a \.ply holds one layer; name it \(cloud, sheet, splats\)"),
        ("a.glb", ("clowd",), r'unknown layer "clowd"; .*cloud'),
        ("a.glb", ("fog",), "layer 'fog' has no geometry: it draws an image or a volume"),
        ("a.glb", ("splats",), r"layer 'splats' draws splats, which are written as \.ply"),
        ("a.spz", ("cloud",), r"layer 'cloud' does not draw splats, and a \.spz holds splats only"),
        ("a.ply", ("nowhere",), "nothing to write: no row of nowhere is finite"),
        ("none/a.ply", ("cloud",), "cannot be written"),
    ],
)
def test_layers_that_cannot_be_exported(
    viewer: vg.Viewer, tmp_path: Path, name: str, layers: tuple[str, ...], message: str
) -> None:
    viewer.points("cloud", position=POINTS)
    viewer.surface("sheet", position=POINTS, index=TRIANGLES)
    viewer.volume("fog", density=X)
    viewer.splats("splats", position=POINTS)
    if "nowhere" in layers:
        viewer.points("nowhere", position=np.full((3, 3), np.nan, np.float32))
    with pytest.raises(InputError, match=message):
        viewer.export(tmp_path / name, *layers)
    assert not (tmp_path / name).exists()


def test_more_than_can_be_exported_is_refused(viewer: vg.Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer.instances("cubes", position=POINTS)
    monkeypatch.setattr("vertigrad.export.instances.MOST", 100)
    with pytest.raises(InputError, match="'cubes': 40 meshes of 24 vertices are more than the 100 vertices"):
        drawn(viewer, "cubes")


def test_exporting_counts_no_geometry_and_leaks_nothing(viewer: vg.Viewer, tmp_path: Path, steady: Gpu) -> None:
    viewer.points("cloud", position=POINTS)
    viewer.update()
    before = steady.meter.read()["geometry"]
    write_layers(tmp_path / "a.ply", viewer.session.stage.layers)
    assert steady.meter.read()["geometry"] == before
