"""The packaged weights, the NumPy reference of `neural_field`, and the training script."""

import importlib.util
import json
import struct
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from vertigrad import resources
from vertigrad.errors import InputError
from vertigrad.models.reference import neural_field as reference

WEIGHTS = resources.path("assets", "weights", "neural_field.safetensors")
ELEVATION = resources.path("assets", "data", "jacksboro_fault_dem.npz")
TRAINING = Path(__file__).parents[2] / "assets" / "training" / "train_neural_field.py"
ALL = (1.0, 1.0, 1.0)
ALONE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@pytest.fixture(scope="module")
def field() -> reference.Field:
    return reference.load(WEIGHTS)


@pytest.fixture(scope="module")
def elevation() -> np.ndarray:
    """[m], rows from the north, columns from the west."""
    return np.load(ELEVATION)["elevation_m"].astype(np.float64)


@pytest.fixture(scope="module")
def learned(field, elevation) -> np.ndarray:
    """Every band at the data's own samples, shape (3, rows, columns)."""
    rows, columns = elevation.shape
    v, u = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns), indexing="ij")
    uv = np.stack([u.ravel(), v.ravel()], axis=1).astype(np.float32)
    return reference.bands(field, uv).reshape(3, rows, columns)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def in_meters(field: reference.Field, relief: np.ndarray) -> np.ndarray:
    return field.mean_m + field.metres_per_unit * relief


def relu_field(weights: list[tuple[list, list]], sway: float = 1.0) -> reference.Field:
    """One band with explicit layers, each (weight, bias)."""
    tensors = {}
    for index, (weight, bias) in enumerate(weights):
        tensors[f"band0.layer{index}.weight"] = np.array(weight, np.float32)
        tensors[f"band0.layer{index}.bias"] = np.array(bias, np.float32)
    return reference.Field(tensors, "relu", 1, len(weights), len(weights[0][1]), ("only",), (sway,))


def plane(slope_u: float, slope_v: float) -> reference.Field:
    """H = slope_u · u + slope_v · v, from relu(x) − relu(−x) = x."""
    first = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    return relu_field([(first, [0] * 4), ([[slope_u, -slope_u, slope_v, -slope_v]], [0])])


# The packaged network


def test_the_network_matches_the_elevation_data(field, learned, elevation):
    error = in_meters(field, learned.sum(axis=0)) - elevation
    rmse = float(np.sqrt(np.mean(error**2)))
    assert rmse < 0.0095 * np.ptp(elevation)
    assert abs(error.mean()) < 0.1
    assert np.abs(error).max() < 0.1 * np.ptp(elevation)
    metadata_rmse = float(_metadata(WEIGHTS)["rmse_units"]) * field.metres_per_unit
    assert rmse == pytest.approx(metadata_rmse, rel=1e-3)


def test_its_scale_is_that_of_the_data(field, elevation):
    assert field.metres_per_unit == np.ptp(elevation)
    assert field.mean_m == pytest.approx(elevation.mean())
    assert field.side_east_m == pytest.approx(field.side_south_m, rel=2e-3)
    assert field.band_names == ("coarse", "middle", "fine")
    assert (field.activation, field.bands, field.layers, field.width) == ("sine", 3, 4, 64)


def test_each_band_is_finer_than_the_previous_one(learned):
    """By the mean wavelength of its slopes: 2π · rms height / rms slope, in samples."""
    wavelengths = []
    for band in learned:
        south, east = np.gradient(band)
        wavelengths.append(2 * np.pi * band.std() / np.sqrt(np.mean(south**2 + east**2)))
    assert wavelengths[0] > 3 * wavelengths[1] > 6 * wavelengths[2]
    assert learned[0].std() > learned[1].std() > learned[2].std()


def test_the_coarse_band_is_the_blurred_relief(field, learned, elevation):
    training = _training_script()
    blurred = training.Relief.read(ELEVATION).blurred(1400.0)
    assert np.sqrt(np.mean((learned[0] - blurred) ** 2)) < 1e-3


def test_arguments_of_the_sine_stay_small(field):
    """Sine loses accuracy on a GPU as its argument grows."""
    signal_bound = 0.0
    uv = reference.grid(101, np.float64)
    for band in range(field.bands):
        signal = uv
        for index in range(field.layers - 1):
            weight, bias = field.layer(band, index, np.float64)
            argument = signal @ weight.T + bias
            signal_bound = max(signal_bound, float(np.abs(argument).max()))
            signal = np.sin(argument)
    assert signal_bound < 60


# Evaluation


def test_bands_are_summed(field):
    uv = reference.grid(40, np.float64)
    parts = [reference.evaluate(field, uv, alone) for alone in ALONE]
    np.testing.assert_allclose(reference.evaluate(field, uv, ALL), sum(parts), atol=1e-14)
    mixed = reference.evaluate(field, uv, (0.5, -2.0, 3.0))
    np.testing.assert_allclose(mixed, 0.5 * parts[0] - 2.0 * parts[1] + 3.0 * parts[2], atol=1e-14)
    assert not reference.evaluate(field, uv, (0.0, 0.0, 0.0)).any()


@pytest.mark.parametrize("amplitude", [0.0, 0.3])
def test_float32_agrees_with_float64(field, amplitude):
    heights = [
        reference.evaluate(field, reference.grid(65, dtype), ALL, amplitude, 0.2, 1.7)
        for dtype in (np.float32, np.float64)
    ]
    assert heights[0].dtype == np.float32 and heights[1].dtype == np.float64
    assert 0 < relative(*heights) < 3e-6


def test_blend_must_have_a_weight_per_band(field):
    with pytest.raises(InputError, match="blend has 2 weights; the network has 3 bands"):
        reference.evaluate(field, reference.grid(4), (1.0, 1.0))


def test_relu_network():
    """|u| + max(0, 2v − 1) through two hidden layers, computed by hand."""
    absolute = relu_field(
        [
            ([[1, 0], [-1, 0], [0, 2]], [0, 0, -1]),
            ([[1, 1, 0], [0, 0, 1], [0, 0, 0]], [0, 0, 0]),
            ([[1, 1, 5]], [0.25]),
        ]
    )
    uv = np.array([[-0.5, 0.0], [0.75, 0.5], [0.0, 1.0], [-1.0, 0.75]])
    expected = np.abs(uv[:, 0]) + np.maximum(0, 2 * uv[:, 1] - 1) + 0.25
    np.testing.assert_allclose(reference.evaluate(absolute, uv, (1.0,)), expected)


# Perturbation


def test_without_amplitude_it_is_the_trained_relief_at_any_time(field):
    uv = reference.grid(33)
    still = (np.asarray(ALL, np.float32)[:, None] * reference.bands(field, uv)).sum(axis=0)
    for time in (0.0, 0.3, 1e6):
        assert np.array_equal(reference.evaluate(field, uv, ALL, 0.0, 0.7, time), still)


def test_perturbation_formula(field):
    found = reference.perturbation(field, 0.2, 0.5, 3.3)
    neuron = 2 * field.width + 17
    cycle, phase = 2 * np.pi * 0.65, 2 * np.pi * ((neuron * 0.61803398875) % 1)
    assert found.shape == (3, 64)
    assert found[2, 17] == pytest.approx(0.2 * field.sway[2] * np.sin(cycle + phase), abs=1e-12)


def test_the_perturbation_is_added_in_the_first_layer():
    """One ReLU neuron far inside its linear part: H = u + 5 + p."""
    line = relu_field([([[1, 0]], [5]), ([[1]], [0])], sway=2.0)
    uv = np.array([[0.25, 0.0]])
    moved = reference.evaluate(line, uv, (1.0,), amplitude=0.1, frequency=0.25, time=1.0)
    np.testing.assert_allclose(moved, 5.25 + 0.1 * 2.0 * 1.0)


def test_the_cycle_closes_and_is_smooth(field):
    uv = reference.grid(32, np.float64)
    frames = [reference.evaluate(field, uv, ALL, 0.2, 0.5, time) for time in np.linspace(0, 2, 41)]
    np.testing.assert_allclose(frames[0], frames[-1], atol=1e-9)
    steps = [np.std(after - before) for before, after in pairwise(frames)]
    assert max(steps) < 3 * min(steps)
    assert max(steps) < 0.1 * np.std(frames[0])


def test_a_small_amplitude_is_the_relative_change_of_each_band(field):
    uv = reference.grid(60)
    still = reference.bands(field, uv)
    squares = [
        (reference.bands(field, uv, reference.perturbation(field, 0.02, 1.0, time)) - still).var(axis=1)
        for time in (0.0, 0.25)
    ]
    change = np.sqrt(np.mean(squares, axis=0)) / still.std(axis=1)
    np.testing.assert_allclose(change, 0.02, rtol=0.1)


# Surface


@pytest.mark.parametrize("resolution", [2, 3, 7])
def test_grid_runs_from_north_west_to_south_east(resolution):
    uv = reference.grid(resolution, np.float64)
    assert uv.shape == (resolution**2, 2)
    np.testing.assert_allclose(uv[[0, resolution - 1, -1]], [[-1, -1], [1, -1], [1, 1]], atol=1e-12)


def test_positions_are_east_up_south(field):
    positions, _ = reference.surface(field, 9, ALL, extent=2.0, height=0.5, dtype=np.float64)
    uv = reference.grid(9, np.float64)
    heights = reference.evaluate(field, uv, ALL).reshape(9, 9)
    np.testing.assert_allclose(positions[..., 0], 2.0 * uv[:, 0].reshape(9, 9))
    np.testing.assert_allclose(positions[..., 1], 0.5 * heights)
    np.testing.assert_allclose(positions[..., 2], 2.0 * uv[:, 1].reshape(9, 9))


def test_normals_of_a_plane_are_exact_up_to_the_borders():
    _, normals = reference.surface(plane(0.5, -0.25), 5, (1.0,), extent=2.0, height=3.0, dtype=np.float64)
    expected = np.array([-0.5 * 3 / 2, 1.0, 0.25 * 3 / 2])
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(normals, np.broadcast_to(expected, (5, 5, 3)), atol=1e-14)


def test_normals_are_central_differences_inside_and_one_sided_at_the_borders():
    rng = np.random.default_rng(3)
    positions = rng.normal(size=(4, 5, 3))
    normals = reference.normals(positions)

    def expected(north, south, west, east):
        across = np.cross(positions[south] - positions[north], positions[east] - positions[west])
        return across / np.linalg.norm(across)

    np.testing.assert_allclose(normals[1, 2], expected((0, 2), (2, 2), (1, 1), (1, 3)))
    np.testing.assert_allclose(normals[0, 0], expected((0, 0), (1, 0), (0, 0), (0, 1)))
    np.testing.assert_allclose(normals[3, 4], expected((2, 4), (3, 4), (3, 3), (3, 4)))


def test_normals_of_the_relief_are_unit_and_point_up(field):
    _, normals = reference.surface(field, 65, ALL, height=0.3)
    np.testing.assert_allclose(np.linalg.norm(normals, axis=-1), 1.0, atol=1e-5)
    assert normals[..., 1].min() > 0
    assert normals.dtype == np.float32


# Broken files


def _metadata(path: Path) -> dict[str, str]:
    with safe_open(path, framework="numpy") as file:
        return dict(file.metadata())


@pytest.fixture
def broken(tmp_path):
    """Write the packaged file with changes; a value of None removes the entry."""

    def write(tensors=(), metadata=()) -> Path:
        content = {**load_file(WEIGHTS), **dict(tensors)}
        text = {**_metadata(WEIGHTS), **dict(metadata)}
        path = tmp_path / "field.safetensors"
        save_file(
            {name: tensor for name, tensor in content.items() if tensor is not None},
            path,
            {name: value for name, value in text.items() if value is not None},
        )
        return path

    return write


def test_every_broken_tensor_is_listed(broken):
    nan = np.full(64, np.nan, np.float32)
    path = broken(
        {
            "band0.layer0.weight": None,
            "band1.layer3.bias": np.zeros(2, np.float32),
            "band2.layer1.weight": np.zeros((64, 64)),
            "band2.layer1.bias": nan,
            "extra": np.zeros(3, np.float32),
        }
    )
    with pytest.raises(InputError) as caught:
        reference.load(path)
    assert str(caught.value).splitlines() == [
        f"{path}: not the weights of a neural field",
        "  band0.layer0.weight: missing; expected F32 (64, 2)",
        "  band1.layer3.bias: expected shape (1,), got (2,)",
        "  band2.layer1.weight: expected type F32, got F64",
        "  band2.layer1.bias: has values that are not finite",
        "  extra: unexpected",
    ]


def test_every_error_of_the_metadata_is_listed(broken):
    path = broken(metadata={"format": "other", "activation": None, "layers": "four", "sway": "1,2", "mean_m": "inf"})
    with pytest.raises(InputError) as caught:
        reference.load(path)
    assert str(caught.value).splitlines()[1:] == [
        '  metadata: format must be "vertigrad.neural_field", not "other"',
        '  metadata: activation must be "sine" or "relu", not missing',
        '  metadata: layers must be an integer from 2 to 16, not "four"',
        "  metadata: sway has 2 entries for 3 bands",
        '  metadata: mean_m must hold finite numbers, not "inf"',
    ]


@pytest.mark.parametrize("value", ["0", "-3", "17", "1e1", "²", "9999999999999999999999", ""])
def test_invalid_sizes_are_rejected(broken, value):
    with pytest.raises(InputError, match="bands must be an integer from 1 to 16"):
        reference.load(broken(metadata={"bands": value}))


def test_optional_metadata_can_be_omitted(broken):
    names = ("band_names", "sway", "metres_per_unit", "mean_m", "side_east_m", "side_south_m")
    loaded = reference.load(broken(metadata=dict.fromkeys(names)))
    assert loaded.band_names == ("band 0", "band 1", "band 2")
    assert loaded.sway == (1.0, 1.0, 1.0)
    assert (loaded.metres_per_unit, loaded.mean_m, loaded.side_east_m) == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("content", [b"", b"not a network", WEIGHTS.read_bytes()[:5000]])
def test_a_file_that_is_not_safetensors(tmp_path, content):
    path = tmp_path / "field.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"field\.safetensors: not a readable safetensors file"):
        reference.load(path)


@pytest.mark.parametrize("kind", ["BF16", "F8_E4M3"])
def test_types_that_numpy_lacks(tmp_path, kind):
    """One tensor of 4 bytes, written by hand."""
    size = {"BF16": 2, "F8_E4M3": 4}[kind]
    text = {"format": reference.FORMAT, "version": "1", "activation": "relu", "bands": "1", "layers": "2", "width": "1"}
    tensor = {"dtype": kind, "shape": [size], "data_offsets": [0, 4]}
    header = json.dumps({"__metadata__": text, "band0.layer0.bias": tensor}).encode()
    path = tmp_path / "field.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))
    with pytest.raises(InputError, match=f"band0.layer0.bias: expected type F32, got {kind}"):
        reference.load(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        reference.load(tmp_path / "nothing.safetensors")


# Training


def _training_script():
    spec = importlib.util.spec_from_file_location("train_neural_field", TRAINING)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault(spec.name, importlib.util.module_from_spec(spec))
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def few_samples(tmp_path) -> Path:
    """The elevation data with every fourth sample of both directions."""
    with np.load(ELEVATION) as data:
        arrays = dict(data)
    arrays["elevation_m"] = arrays["elevation_m"][::4, ::4]
    for cell in ("cell_east_m", "cell_south_m"):
        arrays[cell] = 4 * arrays[cell]
    path = tmp_path / "elevation.npz"
    np.savez(path, **arrays)
    return path


def test_training_decreases_the_loss(few_samples, monkeypatch):
    script = _training_script()
    monkeypatch.setattr(script, "BATCH", 64)
    relief = script.Relief.read(few_samples)
    uv, target = relief.coordinates(), relief.blurred(1400.0).ravel()
    layers = script.train(uv, target, script.Band("coarse", 1400.0, 10.0, 400), np.random.default_rng(1))
    assert np.std(script.predict(layers, uv) - target) < 0.06 * np.std(target)


def test_training_is_reproducible(few_samples, tmp_path, monkeypatch):
    """At 1/1000 of its steps: the same seed gives the same weights, another seed others."""
    script = _training_script()
    monkeypatch.setattr(script, "BATCH", 64)
    written = []
    for seed in ("3", "3", "4"):
        path = tmp_path / "field.safetensors"
        script.main(["--steps-scale", "0.001", "--seed", seed, "--data", str(few_samples), "--out", str(path)])
        written.append((_metadata(path), load_file(path)))
    assert written[0][0] == written[1][0]
    for name, tensor in written[0][1].items():
        assert np.array_equal(tensor, written[1][1][name])
        assert not np.array_equal(tensor, written[2][1][name])


def test_gradients_of_training_are_those_of_its_loss():
    """Against differences of the loss, in float64."""
    script = _training_script()
    rng = np.random.default_rng(5)
    layers = [(w.astype(np.float64), b.astype(np.float64)) for w, b in script.initial_layers(rng, 5.0)]
    uv, target = rng.uniform(-1, 1, (40, 2)), rng.normal(size=(40, 1))
    network = script.Network(layers, len(uv))
    network.step(uv, target)
    gradients = [(weight.copy(), bias.copy()) for weight, bias in network.gradients]
    for index, part in [(0, 0), (0, 1), (1, 0), (2, 1), (3, 0), (3, 1)]:
        parameter, gradient = layers[index][part], gradients[index][part]
        at = tuple(int(rng.integers(n)) for n in parameter.shape)
        before = parameter[at]
        losses = []
        for shift in (1e-3, -1e-3):
            parameter[at] = before + shift
            losses.append(network.step(uv, target))
        parameter[at] = before
        slope = (losses[0] - losses[1]) / 2e-3
        assert gradient[at] == pytest.approx(slope, rel=5e-3, abs=1e-5)
