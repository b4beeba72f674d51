"""Files of splats against gsply, which reads and writes them independently; where it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.models.data import splat_file

gsply = pytest.importorskip("gsply", reason="gsply reads and writes splats independently")

COUNT = 700
STEPS = {"a.ply": 1e-5, "a.compressed.ply": 0.02, "a.spz": 0.07}  # the largest difference of any value


@pytest.fixture(scope="module")
def values() -> splat_file.Splats:
    rng = np.random.default_rng(1)
    turn = rng.normal(size=(COUNT, 4))
    position = rng.normal(size=(COUNT, 3))
    position -= 0.5 * (position.min(axis=0) + position.max(axis=0))
    arrays = (
        *(position, np.exp(rng.normal(-3, 1, (COUNT, 3))), turn / np.linalg.norm(turn, axis=1, keepdims=True)),
        *(rng.uniform(0.02, 0.98, COUNT), rng.uniform(0, 1, (COUNT, 3)), rng.normal(0, 0.2, (COUNT, 45))),
    )
    return splat_file.Splats(*(array.astype(np.float32) for array in arrays))


def theirs(values: splat_file.Splats) -> dict[str, np.ndarray]:
    """The values by gsply's names: logarithms, logits, and quaternions w, x, y, z."""
    return {
        "means": values.position,
        "scales": np.log(values.scale),
        "quats": values.rotation[:, [3, 0, 1, 2]],
        "opacities": np.log(values.opacity / (1 - values.opacity)),
        "sh0": (values.color - 0.5) / np.float32(0.28209479),
        "shN": values.harmonics.reshape(COUNT, 15, 3),
    }


def compare(got: dict[str, np.ndarray], expected: dict[str, np.ndarray], most: float) -> None:
    nearest = np.linalg.norm(expected["means"][:, None] - got["means"], axis=2).argmin(axis=1)
    assert len(set(nearest)) == COUNT
    for name, array in expected.items():
        found = np.asarray(got[name])[nearest]
        if name == "quats":
            found = found / np.linalg.norm(found, axis=1, keepdims=True)
            assert np.abs((found * array).sum(axis=1)).min() > 1 - 1e-5
        elif name == "opacities":
            assert np.abs(1 / (1 + np.exp(-found)) - 1 / (1 + np.exp(-array))).max() < most
        else:
            assert np.abs(found - array).max() < most, name


@pytest.mark.parametrize("name", STEPS)
def test_gsply_reads_what_is_written(values: splat_file.Splats, tmp_path: Path, name: str) -> None:
    splat_file.write(tmp_path / name, values)
    read: Any = gsply.read_spz if name.endswith(".spz") else gsply.plyread
    got = read(str(tmp_path / name))
    compare({field: getattr(got, field) for field in theirs(values)}, theirs(values), STEPS[name])


@pytest.mark.parametrize("name", STEPS)
def test_what_gsply_writes_is_read(values: splat_file.Splats, tmp_path: Path, name: str) -> None:
    path, arrays = str(tmp_path / name), {field: np.ascontiguousarray(a) for field, a in theirs(values).items()}
    if name.endswith(".spz"):
        gsply.plywrite(str(tmp_path / "plain.ply"), *arrays.values())
        gsply.write_spz(path, gsply.plyread(str(tmp_path / "plain.ply")))
    else:
        gsply.plywrite(path, *arrays.values(), compressed=name.endswith(".compressed.ply"))
    compare(theirs(splat_file.read(tmp_path / name, 0.0, "y")), arrays, STEPS[name])
