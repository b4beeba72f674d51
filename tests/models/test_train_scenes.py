"""Scenes with training: the decrease of the loss for a fixed seed, and reproducible bits.

Runs are short, with coarse outputs; results of whole runs are in docs/learning.md.
"""

from __future__ import annotations

import tomllib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, learn, resources
from vertigrad.gpu import Gpu
from vertigrad.models.learning import solid_samples
from vertigrad.models.learning.train import Train, declare
from vertigrad.models.learning.train_data import _of_solid, solid

# Settings that make each scene fast, the number of steps, and the factor by which the loss decreases in them.
# The digits are trained for 192 steps of the optimizer, of the 992 of their scene.
RUNS: dict[str, tuple[dict[str, Any], int, float]] = {
    "digits": ({"draw": {"resolution": 12}}, 12, 4.0),
    "field_fit": ({"data": {"resolution": 32}, "steps": 10}, 4, 25.0),
    "sdf_fit": ({"data": {"samples": 3000}, "draw": {"resolution": 28}, "batch_size": 768, "steps": 30}, 3, 15.0),
    "image_fit": ({"data": {"resolution": 40}, "batch_size": 1024, "steps": 10}, 4, 50.0),
}


def table_of(name: str, changed: dict[str, Any]) -> dict[str, Any]:
    text = resources.path("scenes", f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)["models"]["learner"]
    for key, value in changed.items():
        table[key] = {**table.get(key, {}), **value} if isinstance(value, dict) else value
    return table


def packaged(name: str) -> Path:
    return resources.root().joinpath(name)


def start(name: str, stack: ExitStack) -> Train:
    """The scene's model."""
    table = table_of(name, RUNS[name][0])
    kind, faults = declare(table, packaged)
    assert not faults, faults
    values = {key: value for key, value in table.items() if key in kind.Params.model_fields}
    model = kind("learner", kind.Params.parse(values), {}, table["seed"])
    assert isinstance(model, Train)
    stack.callback(model.close)
    return model


def advance(model: Train, steps: int) -> dict[str, np.ndarray]:
    """The model's state after a number of steps."""
    for _ in range(steps):
        model.step(1 / 60)
    return {key: tensor.numpy() for key, tensor in model.state().items()}


def statistics(model: Train) -> dict[str, float]:
    found = model.diagnostics()
    values = {key: float(tensor.item()) for key, tensor in found.items()}
    for tensor in found.values():
        tensor.close()
    return values


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", RUNS)
def test_the_loss_decreases_reproducibly(steady: Gpu, name: str) -> None:
    _, steps, factor = RUNS[name]
    with ExitStack() as stack:
        again, model = start(name, stack), start(name, stack)
        before, expected = statistics(model)["test_loss"], advance(again, 1)
        for key, array in advance(model, 1).items():
            assert np.array_equal(array, expected[key]), key
        advance(model, steps - 1)
        values = statistics(model)
        assert values["test_loss"] < before / factor, values
        if name == "digits":
            assert values["accuracy"] >= 0.8  # 0.97 after its whole run, of 992 steps of the optimizer
        if name == "sdf_fit":
            assert chamfer(model) < 0.055


def chamfer(model: Train) -> float:
    """The mean distance from the learned surface to points of the mesh, plus that in the other direction."""
    mesh = solid(model._tables.data)
    learned = crossings(model.outputs()["distance"].numpy())
    on_mesh = solid_samples.on_surface(mesh.positions, mesh.index, 8000, np.random.default_rng(0))
    with Tensor.from_numpy(learned.astype(np.float32)) as a, Tensor.from_numpy(on_mesh.astype(np.float32)) as b:
        return float(learn.chamfer(a, b, squared=False).item())


def crossings(distance: np.ndarray) -> np.ndarray:
    """Zeros of the distance on the edges of its grid, by linear interpolation: positions (n, 3)."""
    side, found = len(distance), []
    nodes = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, side)] * 3, indexing="ij"), axis=-1)[..., ::-1]
    for axis in range(3):
        low, high = (
            tuple(part if at == axis else slice(None) for at in range(3)) for part in (slice(-1), slice(1, None))
        )
        a, b = distance[low].astype(float), distance[high].astype(float)
        crossed = (a < 0.0) != (b < 0.0)
        share = (a[crossed] / (a[crossed] - b[crossed]))[:, None]
        found.append(nodes[low][crossed] * (1.0 - share) + nodes[high][crossed] * share)
    return np.concatenate(found)


def test_distances_of_a_solid_are_computed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """They take seconds, longer than all else before the first image: they are stored."""
    monkeypatch.setenv("VERTIGRAD_CACHE", str(tmp_path))
    file, computed, distances = resources.path("assets", "data", "knot.ply"), [], solid_samples.distances

    def noted(*arguments: np.ndarray) -> np.ndarray:
        computed.append(len(arguments[2]))
        return distances(*arguments)

    monkeypatch.setattr(solid_samples, "distances", noted)
    first, second = (_of_solid.__wrapped__(file, 1.6, "y", 200, 0.1, 3) for _ in range(2))
    assert computed == [225]
    for before, after in zip(first, second, strict=True):
        np.testing.assert_array_equal(before, after)


def test_distances_equal_the_brute_force_reference() -> None:
    from vertigrad.models.data.mesh import distances as all_of
    from vertigrad.models.data.mesh_file import read

    mesh = read(resources.path("assets", "data", "knot.ply"), 1.6, "y", 40.0)
    random = np.random.default_rng(2)
    spots = solid_samples.sample_positions(mesh.positions, mesh.index, 64, 0.1, random)
    found = solid_samples.distances(mesh.positions, mesh.index, spots)
    np.testing.assert_allclose(found, all_of(mesh, spots), atol=1e-12)
    assert (found < 0.0).any() and (found > 0.1).any()
    on = solid_samples.on_surface(mesh.positions, mesh.index, 200, random)
    assert np.abs(solid_samples.distances(mesh.positions, mesh.index, on)).max() < 1e-9
