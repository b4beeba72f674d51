"""Exported networks: other programs compute the same, and loading restores them."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad import Tensor, no_grad
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.learn.export import to_onnx, to_safetensors
from vertigrad.learn.layers import (
    ACTIVATIONS,
    Activation,
    Conv,
    Flatten,
    Layer,
    Linear,
    Pool,
    fourier_features,
    positional_encoding,
)
from vertigrad.learn.network import Network
from vertigrad.onnx_import import Network as Imported
from vertigrad.tensor.weights import read_arrays

RANDOM = np.random.default_rng(11)


def perceptron() -> Network:
    hidden = [Linear(16, 24), Activation("silu"), Linear(24, 24), Activation("silu")]
    return Network([*fourier_features(RANDOM, 3, 8, 0.7), *hidden, Linear(24, 4, gain=1.0)], (3,))


def convolutions() -> Network:
    all_layers: list[Layer] = [
        Conv(1, 4),
        Activation("silu"),
        Pool(),
        Conv(4, 8),
        Activation("silu"),
        Pool(),
        Flatten(),
    ]
    return Network([*all_layers, Linear(8 * 2 * 2, 10)], (1, 9, 8))


def convolution_to_the_border() -> Network:
    return Network([Conv(1, 4), Activation("silu"), Flatten(), Linear(4 * 3 * 5, 2)], (1, 3, 5))


NETWORKS: dict[str, Callable[[], Network]] = {
    "perceptron": perceptron,
    "convolutions": convolutions,
    "convolution_to_the_border": convolution_to_the_border,
    "octaves": lambda: Network([*positional_encoding(2, 3), Linear(12, 3)], (2,)),
}


@pytest.fixture(params=NETWORKS)
def learned(request: pytest.FixtureRequest) -> tuple[Network, dict[str, np.ndarray], np.ndarray]:
    """A network, weights none of which is 0, and a batch."""
    network = NETWORKS[request.param]()
    weights = {name: array + np.float32(0.01) for name, array in network.init(RANDOM).items()}
    return network, weights, RANDOM.normal(size=(7, *network.input_shape)).astype(np.float32)


def ours(network: Network, weights: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    tensors = {name: Tensor.from_numpy(array) for name, array in weights.items()}
    with no_grad(), Tensor.from_numpy(x) as inputs:
        found = network.apply(inputs, tensors).numpy()
    for tensor in tensors.values():
        tensor.close()
    return found


def test_onnx_computes_the_same_here_and_in_onnxruntime(
    steady: Gpu, tmp_path: Path, learned: tuple[Network, dict[str, np.ndarray], np.ndarray]
) -> None:
    network, weights, x = learned
    expected = ours(network, weights, x)
    scale = np.abs(expected).max()
    np.testing.assert_allclose(network.reference(x, weights), expected, atol=1e-5 * scale)
    path = tmp_path / "network.onnx"
    path.write_bytes(to_onnx(network, weights))
    imported = Imported(path)
    np.testing.assert_allclose(imported.run({"x": x})["y"], expected, atol=1e-5 * scale)
    imported.close()
    np.testing.assert_allclose(elsewhere(path, x), expected, atol=1e-5 * scale)


def elsewhere(path: Path, x: np.ndarray) -> np.ndarray:
    import onnxruntime

    runtime = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(runtime.run(None, {"x": x})[0])


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 1.0), (0.0, 2.0), (3.0, 1.0), (-0.5, 0.25), (1.0, 0.5)])
def test_inputs_are_scaled_as_in_training(tmp_path: Path, mean: float, deviation: float) -> None:
    network, path = Network([Linear(4, 3)], (4,)), tmp_path / "scaled.onnx"
    weights, x = network.init(RANDOM), RANDOM.normal(size=(5, 4)).astype(np.float32)
    path.write_bytes(to_onnx(network, weights, mean=mean, std=deviation))
    np.testing.assert_allclose(elsewhere(path, x), network.reference((x - mean) / deviation, weights), atol=1e-5)
    assert (b"input.mean" in path.read_bytes()) is ((mean, deviation) != (0.0, 1.0))


def test_every_activation_is_exported(tmp_path: Path) -> None:
    layers: list[Layer] = [Linear(4, 8)]
    for name in ACTIVATIONS:
        layers += [Activation(name), Linear(8, 8)]
    network, path = Network(layers, (4,)), tmp_path / "curves.onnx"
    weights, x = network.init(RANDOM), RANDOM.normal(size=(9, 4)).astype(np.float32)
    path.write_bytes(to_onnx(network, weights))
    np.testing.assert_allclose(elsewhere(path, x), network.reference(x, weights), atol=1e-5)


def test_safetensors_round_trip(tmp_path: Path, learned: tuple[Network, dict[str, np.ndarray], np.ndarray]) -> None:
    _, weights, _ = learned
    path = tmp_path / "network.safetensors"
    path.write_bytes(to_safetensors(weights, {"steps": "12"}))
    found = read_arrays(path)
    assert found.keys() == weights.keys()
    assert all(found[name].dtype == np.float32 and np.array_equal(found[name], weights[name]) for name in weights)
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert json.loads(content[8 : 8 + length])["__metadata__"] == {"steps": "12"}


def test_names_are_those_of_a_sequence_of_layers() -> None:
    network = Network([Flatten(), Linear(64, 8), Activation("silu"), Linear(8, 2)], (8, 8))
    weights = network.init(RANDOM)
    shapes = {name: array.shape for name, array in weights.items()}
    assert shapes == {"1.weight": (8, 64), "1.bias": (8,), "3.weight": (2, 8), "3.bias": (2,)}


def test_frozen_parameters_are_exported_too() -> None:
    network = Network([*fourier_features(RANDOM, 2, 3, 1.0), Linear(6, 1)], (2,))
    weights = network.init(RANDOM)
    assert set(weights) - set(network.trainable(weights)) == {"0.weight", "0.bias"}


def test_octaves_are_sines_and_cosines_of_doubling_frequency() -> None:
    network = Network(positional_encoding(2, 3), (2,))
    x = RANDOM.uniform(-1.0, 1.0, (5, 2)).astype(np.float32)
    turns = np.concatenate([np.pi * x, 2 * np.pi * x, 4 * np.pi * x], axis=1)
    expected = np.concatenate([np.sin(turns), np.cos(turns)], axis=1)
    np.testing.assert_allclose(network.reference(x, network.init(RANDOM)), expected, atol=1e-5)


def test_waves_have_periods_by_their_sharpness() -> None:
    random = np.random.default_rng(0)
    network = Network(fourier_features(random, 3, 2000, 0.7), (3,))
    frequencies = network.init(random)["0.weight"] / (2 * np.pi)
    assert frequencies.std() == pytest.approx(0.7, rel=0.05)
    assert frequencies.mean() == pytest.approx(0.0, abs=0.05)


def test_gradients_of_the_reference_equal_finite_differences(
    learned: tuple[Network, dict[str, np.ndarray], np.ndarray],
) -> None:
    network, weights, x = learned
    doubled = {name: array.astype(float) for name, array in weights.items()}
    pull = RANDOM.normal(size=network.reference(x, weights).shape)
    gradients = network.gradients(x, doubled, pull)
    assert gradients.keys() == network.trainable(weights).keys()
    for name, gradient in gradients.items():
        direction = RANDOM.normal(size=gradient.shape)
        ends = [network.reference(x, {**doubled, name: doubled[name] + step * direction}) for step in (1e-6, -1e-6)]
        assert ((ends[0] - ends[1]) * pull).sum() / 2e-6 == pytest.approx(
            (gradient * direction).sum(), rel=1e-4, abs=1e-5
        )


def test_a_layer_that_onnx_lacks_is_refused() -> None:
    class Other(Layer):
        def output_shape(self, shape):  # type: ignore[no-untyped-def]
            return shape

        def apply(self, x, weights, activation=None):  # type: ignore[no-untyped-def]
            return x

        def reference(self, x, weights):  # type: ignore[no-untyped-def]
            return x, lambda gradient: (gradient, {})

    with pytest.raises(InputError, match="no operators for other"):
        to_onnx(Network([Other()], (2,)), {})
    with pytest.raises(InputError, match="without layers"):
        to_onnx(Network([], (2,)), {})
