"""Splats in PLY files: written and read, rotated upright, and rejected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import splat_file
from vertigrad.models.data.placement import AXES_BY_UP
from vertigrad.models.data.splats import Params
from vertigrad.models.data.splats import Splats as Model

COUNT = 50


def some(seed: int = 1) -> splat_file.Splats:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(COUNT, 4))
    position = rng.normal(size=(COUNT, 3)) * (1, 2, 3)
    position -= 0.5 * (position.min(axis=0) + position.max(axis=0))
    arrays = (
        *(position, np.exp(rng.normal(-3, 1, (COUNT, 3))), turn / np.linalg.norm(turn, axis=1, keepdims=True)),
        *(rng.uniform(0.02, 0.98, COUNT), rng.uniform(0, 1, (COUNT, 3))),
    )
    return splat_file.Splats(*(array.astype(np.float32) for array in arrays))


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


def test_written_and_read(tmp_path: Path) -> None:
    values = some()
    splat_file.write(tmp_path / "a.ply", values)
    got = splat_file.read(tmp_path / "a.ply")
    assert got.dropped == 0
    for ours, theirs in zip(got[:5], values[:5], strict=True):
        assert ours.dtype == np.float32 and ours.flags.c_contiguous
        assert np.allclose(ours, theirs, rtol=2e-6, atol=1e-6)
    assert splat_file.is_splats(tmp_path / "a.ply")


def test_the_file_has_the_format_of_the_paper(tmp_path: Path) -> None:
    names = ["x", "y", "z", "nx", "f_dc_0", "f_dc_1", "f_dc_2", "f_rest_0", "opacity"]
    names += ["scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"]
    rows = [[1, 2, 3, 9, 1, 0, -1, 9, 0, -1, 0, 1, 2, 0, 0, 0], [1, 2, 5, 9, 0, 0, 0, 9, 2, 0, 0, 0, 0, 0, 3, 0]]
    head = "".join(f"property {'double' if name == 'y' else 'float'} {name}\n" for name in names)
    text = f"ply\nformat ascii 1.0\ncomment by hand\nelement vertex 2\n{head}end_header\n"
    (tmp_path / "a.ply").write_text(text + "\n".join(" ".join(map(str, row)) for row in rows))
    got = splat_file.read(tmp_path / "a.ply")
    assert np.allclose(got.position, [[0, 0, -1], [0, 0, 1]])
    assert np.allclose(got.scale[0], np.exp([-1, 0, 1])) and np.allclose(got.opacity, [0.5, 1 / (1 + np.exp(-2))])
    assert np.allclose(got.rotation, [[0, 0, 0, 1], [0, 1, 0, 0]])  # w comes first in the file
    assert np.allclose(got.color[0], [0.5 + 0.28209479, 0.5, 0.5 - 0.28209479])
    binary = np.array([tuple(row) for row in rows], [(n, ">f8" if n == "y" else ">f4") for n in names])
    big = text.replace("ascii", "binary_big_endian").encode() + binary.tobytes()
    (tmp_path / "b.ply").write_bytes(big)
    for ours, theirs in zip(splat_file.read(tmp_path / "b.ply")[:5], got[:5], strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("up", list(AXES_BY_UP))
def test_size_and_the_upward_axis(tmp_path: Path, up: str) -> None:
    splat_file.write(tmp_path / "a.ply", some())
    plain, got = splat_file.read(tmp_path / "a.ply"), splat_file.read(tmp_path / "a.ply", 4.0, up)
    axes, factor = AXES_BY_UP[up], 4.0 / np.ptp(plain.position, axis=0).max()
    assert np.isclose(np.linalg.det(axes), 1.0)
    assert np.allclose(axes @ {"y": (0, 1, 0), "-y": (0, -1, 0), "z": (0, 0, 1)}[up], (0, 1, 0))
    assert np.allclose(got.position, factor * plain.position @ axes.T, atol=1e-5)
    assert np.allclose(covariances(got), factor**2 * axes @ covariances(plain) @ axes.T, rtol=1e-4, atol=1e-7)


def test_rows_that_are_not_finite_are_dropped_and_counted(tmp_path: Path, steady: Gpu) -> None:
    values = some()
    values.position[3, 1], values.rotation[7] = np.nan, 0.0
    splat_file.write(tmp_path / "a.ply", values)
    assert splat_file.read(tmp_path / "a.ply").dropped == 2
    params = Params(file=tmp_path / "a.ply")
    model = Model("s", params, {}, 0)
    outputs = model.outputs()
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
        (b"element vertex 50", b"element vertex 60", "ends after 50 of 60 vertices"),
        (b"element vertex 50", b"element vertex 0", "no splat with finite values"),
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
