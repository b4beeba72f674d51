"""Files of splats in every format: written and read, rotated upright, and rejected."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import splat_file
from vertigrad.models.data.placement import AXES_BY_UP
from vertigrad.models.data.splats import Params
from vertigrad.models.data.splats import Splats as Model

from ..renderer.splat_reference import view_dependent

COUNT = 50
HARMONICS = (0, 9, 24, 45)


class Tolerances(NamedTuple):
    position: float
    log_scale: float
    angle: float
    opacity: float
    color: float
    harmonics: float = 0.0


TOLERANCES = {
    "a.ply": Tolerances(1e-5, 2e-6, 2e-3, 1e-6, 1e-6, 1e-6),
    "a.compressed.ply": Tolerances(0.011, 0.007, 0.005, 0.002, 0.0025, 0.016),
    "a.splat": Tolerances(1e-6, 1e-6, 0.02, 0.002, 0.002),
    "a.spz": Tolerances(1.3e-4, 0.032, 0.005, 0.002, 0.004, 0.07),
}


def some(seed: int = 1, harmonics: int = 0) -> splat_file.Splats:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(COUNT, 4))
    position = rng.normal(size=(COUNT, 3)) * (1, 2, 3)
    position -= 0.5 * (position.min(axis=0) + position.max(axis=0))
    arrays = (
        *(position, np.exp(rng.normal(-3, 1, (COUNT, 3))), turn / np.linalg.norm(turn, axis=1, keepdims=True)),
        *(rng.uniform(0.02, 0.98, COUNT), rng.uniform(0, 1, (COUNT, 3)), rng.uniform(-0.9, 0.9, (COUNT, harmonics))),
    )
    return splat_file.Splats(*(array.astype(np.float32) for array in arrays))


def matched(got: splat_file.Splats, values: splat_file.Splats) -> splat_file.Splats:
    """The rows of `got` in the order of `values`, by the nearest position: a format may sort them."""
    distances = np.linalg.norm(values.position[:, None] - got.position, axis=2)
    nearest = distances.argmin(axis=1)
    assert len(set(nearest)) == len(values.position)
    return got.rows(nearest)


def covariances(splats: splat_file.Splats) -> np.ndarray:
    x, y, z, w = splats.rotation.T.astype(float)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    axes = np.moveaxis(turn, -1, 0) * splats.scale[:, None, :]
    return axes @ np.swapaxes(axes, 1, 2)


def changed(path: Path, old: bytes, new: bytes) -> Path:
    content = path.read_bytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, new))
    return path


@pytest.mark.parametrize("harmonics", HARMONICS)
@pytest.mark.parametrize("name", TOLERANCES)
def test_written_and_read(tmp_path: Path, name: str, harmonics: int) -> None:
    """Within half a step of what the format holds of each value."""
    values, path = some(harmonics=harmonics), tmp_path / name
    splat_file.write(path, values)
    found = splat_file.read(path)
    assert found.dropped == 0 and splat_file.is_splats(path)
    assert all(one.dtype == np.float32 and one.flags.c_contiguous for one in found.named.values())
    got, tolerances = matched(found, values), TOLERANCES[name]
    for field in ("position", "opacity", "color"):
        assert np.abs(getattr(got, field) - getattr(values, field)).max() < getattr(tolerances, field), field
    assert np.abs(np.log(got.scale / values.scale)).max() < tolerances.log_scale
    turned = 2 * np.arccos(np.minimum(1.0, np.abs((got.rotation * values.rotation).sum(axis=1, dtype=float))))
    assert turned.max() < tolerances.angle
    if name.endswith(".splat"):
        assert found.harmonics.shape == (COUNT, 0)
    else:
        assert found.harmonics.shape == (COUNT, harmonics)
        assert np.abs(got.harmonics - values.harmonics).max(initial=0.0) < tolerances.harmonics


@pytest.mark.parametrize("name", TOLERANCES)
def test_every_format_says_what_points_up(tmp_path: Path, name: str) -> None:
    """Splats of a scene, upright with y or z, are upright again when their file is opened."""
    values = some(harmonics=9)
    for up in ("y", "z"):
        splat_file.write(tmp_path / name, values, up)
        got, axes = splat_file.read(tmp_path / name), AXES_BY_UP[up]
        expected = values._replace(position=(values.position @ axes.T).astype(np.float32))
        assert np.abs(matched(got, expected).position - expected.position).max() < TOLERANCES[name].position


def test_many_splats_are_in_chunks_of_neighbors(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    one = some()
    values = splat_file.Splats(*(np.resize(array, (700, *array.shape[1:])) for array in one.named.values()))
    values = values._replace(position=rng.uniform(-50, 50, (700, 3)).astype(np.float32))
    middle = 0.5 * (values.position.min(axis=0) + values.position.max(axis=0))
    splat_file.write(tmp_path / "a.compressed.ply", values)
    content = (tmp_path / "a.compressed.ply").read_bytes()
    assert b"element chunk 3\n" in content and b"element vertex 700\n" in content
    got = splat_file.read(tmp_path / "a.compressed.ply")
    assert np.abs(matched(got, values).position - (values.position - middle)).max() < 0.06
    assert len(content) < 16 * 700 + 3 * 18 * 4 + 800


def test_an_spz_of_version_2(tmp_path: Path) -> None:
    """Written here by the description of the format: quaternions as x, y and z in a byte each."""
    values = some(harmonics=9)
    fixed = np.round(values.position.astype(float) * 256).astype("<i4").view(np.uint8).reshape(COUNT, 3, 4)[:, :, :3]
    turn = values.rotation * np.sign(values.rotation[:, 3:])
    parts = [
        np.array([0x5053474E, 2, COUNT], "<u4").tobytes() + bytes([1, 8, 1, 0]),
        fixed.tobytes(),
        np.round(values.opacity * 255).astype(np.uint8).tobytes(),
        np.round(((values.color - 0.5) / 0.28209479 * 0.15 + 0.5) * 255).astype(np.uint8).tobytes(),
        np.round((np.log(values.scale) + 10) * 16).astype(np.uint8).tobytes(),
        np.round(turn[:, :3] * 127.5 + 127.5).astype(np.uint8).tobytes(),
        np.round(values.harmonics * 128 + 128).astype(np.uint8).tobytes(),
    ]
    (tmp_path / "a.spz").write_bytes(gzip.compress(b"".join(parts)))
    got = splat_file.read(tmp_path / "a.spz")
    assert got.antialiased
    assert np.abs(got.position - values.position).max() < 0.01
    assert np.abs(np.log(got.scale / values.scale)).max() < 0.04
    assert np.abs(got.harmonics - values.harmonics).max() < 0.005 and np.abs(got.color - values.color).max() < 0.005
    assert np.abs((got.rotation * values.rotation).sum(axis=1)).min() > 0.99, "w is found from the others"


def test_positions_of_an_spz_far_from_the_origin(tmp_path: Path) -> None:
    values = some()
    far = values._replace(position=values.position * np.float32(1e4))
    splat_file.write(tmp_path / "a.spz", far)
    assert np.abs(splat_file.read(tmp_path / "a.spz").position - far.position).max() < 0.01
    with pytest.raises(InputError, match="too far from the origin"):
        splat_file.packed(tmp_path / "a.spz", values._replace(position=values.position * np.float32(1e8)))


@pytest.mark.parametrize(("count", "expected"), [(9, 9), (24, 24), (45, 45), (7, 0), (12, 0)])
def test_the_number_of_harmonics_of_a_ply(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, count: int, expected: int
) -> None:
    splat_file.write(tmp_path / "a.ply", some())
    head, _, body = (tmp_path / "a.ply").read_bytes().partition(b"end_header\n")
    rows = np.frombuffer(body, "<f4").reshape(COUNT, -1)
    names = "".join(f"property float f_rest_{n}\n" for n in range(count)).encode()
    more = np.concatenate([rows, np.tile(np.arange(count, dtype="<f4"), (COUNT, 1))], axis=1)
    (tmp_path / "a.ply").write_bytes(head + names + b"end_header\n" + more.tobytes())
    got = splat_file.read(tmp_path / "a.ply", 0.0, "y").harmonics
    assert got.shape == (COUNT, expected)
    assert not expected or list(got[0, :3]) == [0, count // 3, 2 * count // 3], "red, green and blue of the first"
    assert any("f_rest" in record.message for record in caplog.records) == (expected == 0)


def test_the_file_has_the_format_of_the_paper(tmp_path: Path) -> None:
    names = ["x", "y", "z", "nx", "f_dc_0", "f_dc_1", "f_dc_2", "f_rest_0", "opacity"]
    names += ["scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"]
    rows = [[1, 2, 3, 9, 1, 0, -1, 9, 0, -1, 0, 1, 2, 0, 0, 0], [1, 2, 5, 9, 0, 0, 0, 9, 2, 0, 0, 0, 0, 0, 3, 0]]
    head = "".join(f"property {'double' if name == 'y' else 'float'} {name}\n" for name in names)
    text = f"ply\nformat ascii 1.0\ncomment by hand\nelement vertex 2\n{head}end_header\n"
    (tmp_path / "a.ply").write_text(text + "\n".join(" ".join(map(str, row)) for row in rows))
    got = splat_file.read(tmp_path / "a.ply", 0.0, "y")
    assert np.allclose(got.position, [[0, 0, -1], [0, 0, 1]])
    assert np.allclose(got.scale[0], np.exp([-1, 0, 1])) and np.allclose(got.opacity, [0.5, 1 / (1 + np.exp(-2))])
    assert np.allclose(got.rotation, [[0, 0, 0, 1], [0, 1, 0, 0]])  # w comes first in the file
    assert np.allclose(got.color[0], [0.5 + 0.28209479, 0.5, 0.5 - 0.28209479])
    binary = np.array([tuple(row) for row in rows], [(n, ">f8" if n == "y" else ">f4") for n in names])
    big = text.replace("ascii", "binary_big_endian").encode() + binary.tobytes()
    (tmp_path / "b.ply").write_bytes(big)
    for ours, theirs in zip(
        splat_file.read(tmp_path / "b.ply", 0.0, "y").named.values(), got.named.values(), strict=True
    ):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("up", list(AXES_BY_UP))
def test_size_and_the_upward_axis(tmp_path: Path, up: str) -> None:
    splat_file.write(tmp_path / "a.ply", some(harmonics=45))
    plain, got = splat_file.read(tmp_path / "a.ply", 0.0, "y"), splat_file.read(tmp_path / "a.ply", 4.0, up)
    axes, factor = AXES_BY_UP[up], 4.0 / np.ptp(plain.position, axis=0).max()
    assert np.isclose(np.linalg.det(axes), 1.0)
    assert np.allclose(axes @ {"y": (0, 1, 0), "-y": (0, -1, 0), "z": (0, 0, 1)}[up], (0, 1, 0))
    assert np.allclose(got.position, factor * plain.position @ axes.T, atol=1e-5)
    sight = plain.rotation[:, :3] / np.linalg.norm(plain.rotation[:, :3], axis=1, keepdims=True)
    assert np.allclose(
        view_dependent(got.color + 9, got.harmonics, sight @ axes.T),
        view_dependent(plain.color + 9, plain.harmonics, sight),
        atol=1e-5,
    )
    assert np.allclose(covariances(got), factor**2 * axes @ covariances(plain) @ axes.T, rtol=1e-4, atol=1e-7)


def test_rows_that_are_not_finite_are_dropped_and_counted(tmp_path: Path, steady: Gpu) -> None:
    values = some()
    values.position[3, 1], values.rotation[7, 2] = np.nan, np.nan
    splat_file.write(tmp_path / "a.ply", values)
    assert splat_file.read(tmp_path / "a.ply").dropped == 2
    params = Params(file=tmp_path / "a.ply")
    model = Model("s", params, {}, 0)
    outputs = model.outputs()
    assert "harmonics" not in outputs
    assert {name: tensor.shape for name, tensor in outputs.items()} == {
        name: spec.shape for name, spec in Model.output_specs(params).items()
    }
    assert len(outputs["position"]) == COUNT - 2
    assert all(one.holds for one in model.compare_with_reference())
    numbers = model.diagnostics()
    assert numbers["dropped"].item() == 2
    for tensor in numbers.values():
        tensor.close()
    model.close()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"ply\nformat", b"plx\nformat", "not a PLY file"),
        (b"end_header", b"end_headed", "no end_header"),
        (b"binary_little_endian", b"binary_middle_endian", "binary_middle_endian"),
        (b"property float scale_1", b"property float scale_9", "its vertices lack scale_1"),
        (b"property float f_dc_1", b"property list uchar int f_dc_1", "'list uchar int f_dc_1'; only scalar"),
        (
            b"property float f_dc_1",
            b"property float f_dc_0",
            "'float f_dc_0'; only scalar properties with different names",
        ),
        (b"element vertex 50", b"element vertex 60", "ends after 50 of 60 vertices"),
        (b"element vertex 50", b"element vertex 0", "has no splats"),
        (b"element vertex 50", b"element face 50", "its first element is not its vertices"),
    ],
)
def test_unreadable_files_are_rejected(tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    splat_file.write(tmp_path / "a.ply", some())
    with pytest.raises(InputError, match=message):
        splat_file.read(changed(tmp_path / "a.ply", old, new))


def test_missing_files_and_meshes(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        splat_file.read(tmp_path / "none.ply")
    assert not splat_file.is_splats(tmp_path / "none.ply")
    mesh = Path(splat_file.__file__).parents[4] / "assets" / "data" / "knot.ply"
    assert mesh.is_file() and not splat_file.is_splats(mesh)
    with pytest.raises(InputError, match="not a PLY of Gaussian splats"):
        splat_file.read(mesh)
