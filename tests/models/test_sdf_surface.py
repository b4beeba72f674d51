"""The surface against its NumPy reference, and against the solids in the network's training set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from vertigrad import resources
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.neural.sdf_surface import Lattice, Params, SdfSurface, directions, distance
from vertigrad.models.parts import Parts
from vertigrad.ops.mlp import Mlp

Make = Callable[..., SdfSurface]
WEIGHTS = resources.path("assets", "weights", "sdf.safetensors")
SHAPES = ("star", "cube", "twist", "gourd", "drop", "sphere")
GOLDEN = (1 + 5**0.5) / 2
ICOSAHEDRON = np.array(
    [np.roll([0.0, a, b * GOLDEN], turn) for turn in range(3) for a in (-1, 1) for b in (-1, 1)]
) / np.hypot(1, GOLDEN)
RADII: dict[str, Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]] = {
    "star": lambda x, y, z: 0.68 + 0.44 * np.exp(9 * (np.stack([x, y, z], -1) @ ICOSAHEDRON.T - 1)).sum(-1),
    "cube": lambda x, y, z: 0.8 * (x**6 + y**6 + z**6) ** (-1 / 6),
    "twist": lambda x, y, z: 0.86 + 0.17 * (x**2 + z**2) * np.cos(5 * np.arctan2(z, x) + 3 * y),
    "gourd": lambda x, y, z: (
        0.82 * np.sqrt(0.9 * np.cos(2 * np.arccos(y)) + np.sqrt(1.1 - 0.81 * np.sin(2 * np.arccos(y)) ** 2))
    ),
    "drop": lambda x, y, z: 0.72 + 0.52 * np.exp(5 * (y - 1)),
    "sphere": lambda x, y, z: 0 * x + 0.85,
}


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[SdfSurface] = []

    def make_model(seed: int = 0, **values: object) -> SdfSurface:
        created.append(
            SdfSurface("test", Params(**{"resolution": 33, "morph_speed": 1.0, "hold_time": 1.0, **values}), {}, seed)
        )
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def output(model: SdfSurface, name: str) -> np.ndarray:
    return model.outputs()[name].numpy()


def latent(shape: str) -> tuple[float, ...]:
    return tuple(float(x) for x in load_file(WEIGHTS)["latents"][SHAPES.index(shape)])


def residual(model: SdfSurface, z: tuple[float, ...]) -> float:
    """The largest distance of a vertex from the surface, in float64."""
    weights = load_file(WEIGHTS)
    layers = [(weights[f"layer{i}.weight"], weights[f"layer{i}.bias"]) for i in range(4)]
    return float(np.abs(distance(layers, output(model, "position").reshape(-1, 3).astype(float), np.array(z))).max())


@pytest.mark.turns(4)
@pytest.mark.parametrize("time", [0.5, 1.6, 4.3])
def test_a_step_agrees_with_the_reference(make: Make, time: float) -> None:
    model = make()
    model.step(time)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


@pytest.mark.turns(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_solids_are_those_of_the_training(make: Make, shape: str) -> None:
    """Each vertex within 0.04 of the formula's radius, root mean square within 0.01; and |f| tiny."""
    model = make(latent=latent(shape))
    x, y, z = directions(33).T
    separation = np.linalg.norm(output(model, "position").reshape(-1, 3), axis=1) - RADII[shape](x, y, z)
    assert np.abs(separation).max() < 0.04
    assert np.sqrt(np.mean(separation**2)) < 0.01
    assert residual(model, latent(shape)) < 2e-5


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "z", [(0.0, 0.0, 0.0), (0.5, 0.5, 0.0), (0.0, -0.5, -0.5), (1.2, -1.2, 1.2), (-1.2, -1.2, 0.3)]
)
def test_every_latent_has_a_surface(make: Make, z: tuple[float, float, float]) -> None:
    model = make(latent=z)
    assert residual(model, z) < 1e-3
    assert np.linalg.norm(output(model, "position"), axis=2).min() > 0.2


def test_normals_and_curvature_are_those_of_a_sphere(make: Make) -> None:
    model = make(latent=latent("sphere"))
    normals, outwards = output(model, "normal"), directions(33).reshape(33, 33, 3)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=2), 1.0, atol=1e-5)
    assert (normals * outwards).sum(axis=2).min() > 0.995
    assert np.mean(output(model, "level")) == pytest.approx(1 / 0.85, rel=0.05)


def test_diagnostics_report_the_radius_and_the_residual_distance(make: Make) -> None:
    found = {name: tensor.numpy().item() for name, tensor in make(latent=latent("sphere")).diagnostics().items()}
    assert found["radius"] == pytest.approx(0.85, abs=0.01)
    assert 0.0 <= found["residual"] < 1e-3


def test_the_sheet_closes_and_its_cells_have_equal_areas() -> None:
    around = directions(33).reshape(33, 33, 3)
    for edge in (around[0], around[-1], around[:, 0], around[:, -1]):
        np.testing.assert_allclose(edge, edge[::-1], atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(around, axis=2), 1.0, atol=1e-12)
    a, b = around[1:, 1:] - around[:-1, :-1], around[1:, :-1] - around[:-1, 1:]
    area = 0.5 * np.linalg.norm(np.cross(a, b), axis=2)
    assert area.sum() == pytest.approx(4 * np.pi, rel=0.01)
    assert area.max() / area.min() < 1.2
    np.testing.assert_allclose(around[16, 16], [0, 1, 0], atol=1e-12)


@pytest.mark.turns(4)
def test_it_holds_each_solid_and_morphs_to_the_next_and_back(make: Make) -> None:
    model, rest = make(), {shape: make(latent=latent(shape)) for shape in ("star", "cube")}
    model.step(0.9)
    np.testing.assert_array_equal(output(model, "position"), output(rest["star"], "position"))
    model.step(0.35)  # a quarter of the transition time, which eases in
    quarter = tuple(a + 0.15625 * (b - a) for a, b in zip(latent("star"), latent("cube"), strict=True))
    np.testing.assert_allclose(output(model, "position"), output(make(latent=quarter), "position"), atol=1e-5)
    model.step(0.85)
    np.testing.assert_allclose(output(model, "position"), output(rest["cube"], "position"), atol=1e-5)
    model.step(10.4)
    np.testing.assert_allclose(output(model, "position"), output(rest["star"], "position"), atol=1e-5)


@pytest.mark.turns(3)
def test_a_rate_of_zero_and_a_custom_latent_are_constant(make: Make) -> None:
    for model in (make(morph_speed=0.0), make(latent=(0.2, 0.3, 0.1))):
        start = output(model, "position")
        model.step(1.7)
        np.testing.assert_array_equal(output(model, "position"), start)
        assert model.scalar_state()["turn"] == 0.0


@pytest.mark.turns(4)
def test_a_snapshot_gives_the_same_bits_again(make: Make) -> None:
    model = make()
    model.step(1.4)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    model.step(0.4)
    later = output(model, "position")
    assert (later != saved["position"]).any()
    model.load_scalar_state(numbers)
    for name, tensor in model.state().items():
        tensor[...] = saved[name]
    model.step(0.4)
    np.testing.assert_array_equal(output(model, "position"), later)
    model.reset()
    np.testing.assert_array_equal(output(model, "position"), output(make(), "position"))


@pytest.mark.turns(3)
def test_weights_are_reloaded_while_it_runs(make: Make, tmp_path: Path) -> None:
    weights = {name: array.copy() for name, array in load_file(WEIGHTS).items()}
    save_file(weights, tmp_path / "net.safetensors")
    model = make(weights=tmp_path / "net.safetensors", latent=latent("sphere"))
    weights["layer3.bias"] += 0.1  # every surface moves inwards by about a tenth
    save_file(weights, tmp_path / "net.safetensors")
    assert model.reload_file("weights")
    model.step(0.1)
    assert np.linalg.norm(output(model, "position"), axis=2).mean() == pytest.approx(0.75, abs=0.02)
    weights["layer2.weight"], weights["layer2.bias"] = np.zeros((8, 64), np.float32), np.zeros(8, np.float32)
    weights["layer3.weight"] = np.zeros((1, 8), np.float32)
    save_file(weights, tmp_path / "net.safetensors")
    assert not model.reload_file("weights")


@pytest.mark.turns(3)
def test_weights_with_fewer_latents(make: Make, tmp_path: Path) -> None:
    weights = load_file(WEIGHTS)
    save_file(weights, tmp_path / "net.safetensors")
    model = make(weights=tmp_path / "net.safetensors")
    model.step(9.0)
    save_file({**weights, "latents": weights["latents"][:2].copy()}, tmp_path / "net.safetensors")
    assert model.reload_file("weights")
    model.step(0.0)
    assert model.scalar_state()["turn"] < 2


def test_a_ray_without_a_hit_ends_at_the_center(make: Make, tmp_path: Path) -> None:
    weights = load_file(WEIGHTS)
    weights["layer3.weight"] = 0.0 * weights["layer3.weight"]
    weights["layer3.bias"] = np.array([0.5], np.float32)
    save_file(weights, tmp_path / "net.safetensors")
    model = make(weights=tmp_path / "net.safetensors")
    np.testing.assert_array_equal(output(model, "position"), 0.0)
    np.testing.assert_allclose(np.linalg.norm(output(model, "normal"), axis=2), 1.0, atol=1e-5)


def put(**arrays: np.ndarray | None) -> Callable[[dict[str, np.ndarray]], None]:
    """Change a file's arrays: None removes one, `_` in a name stands for a dot."""

    def damage(weights: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            weights.pop(name.replace("_", "."), None)
            if array is not None:
                weights[name.replace("_", ".")] = array.astype(np.float32)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (put(layer1_bias=None), "not the network of an sdf_surface"),
        (put(latents=None), "not the network of an sdf_surface"),
        (put(latents=np.zeros((6, 2))), r"latents of shape \(solids, 3\), got \(6, 2\)"),
        (put(latents=np.zeros((0, 3))), r"latents of shape \(solids, 3\), got \(0, 3\)"),
        (put(layer0_weight=np.zeros((64, 5))), r"layer 0: weight \(64, 5\)"),
        (put(layer3_weight=np.zeros((2, 64)), layer3_bias=np.zeros(2)), "gives 2 values, not a distance"),
    ],
)
def test_files_of_other_networks_are_refused(
    make: Make, tmp_path: Path, damage: Callable[[dict[str, np.ndarray]], object], message: str
) -> None:
    weights = load_file(WEIGHTS)
    damage(weights)
    save_file(weights, tmp_path / "net.safetensors")
    with pytest.raises(InputError, match=message):
        make(weights=tmp_path / "net.safetensors")


@pytest.mark.parametrize("side", [2, 5, 9])
def test_a_lattice_has_the_values_of_the_network_at_each_point(steady: Gpu, side: int) -> None:
    """A network of one layer, which is linear: of x, y, z and the latent code."""
    weights = np.float32([[1.0, 20.0, 400.0, 3.0, -5.0, 7.0]])
    with Mlp([weights], [np.float32([0.25])]) as net, Parts("solid") as parts:
        lattice = Lattice(parts, net, side, 0.8)
        for latent in ((0.1, -0.2, 0.3), (0.4, 0.0, -0.1)):
            lattice.sample(latent)
            line = np.linspace(-0.8, 0.8, side)
            z, y, x = np.meshgrid(line, line, line, indexing="ij")
            expected = x + 20 * y + 400 * z + weights[0, 3:] @ latent + 0.25
            np.testing.assert_allclose(lattice.distances.numpy(), expected, rtol=1e-5, atol=1e-3)
