"""Training continues in PyTorch with weights from here, and vice versa; runs if PyTorch is installed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, learn, no_grad
from vertigrad.learn.export import to_safetensors
from vertigrad.learn.layers import Activation, Conv, Flatten, Linear, Pool
from vertigrad.learn.network import Network
from vertigrad.tensor.weights import read_arrays

torch: Any = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed here")
files: Any = pytest.importorskip("safetensors.torch")
nn: Any = torch.nn

RANDOM = np.random.default_rng(11)
RATE, STEPS = 0.05, 5
PAIRS: dict[str, Callable[[], tuple[Network, Any]]] = {
    "perceptron": lambda: (
        Network([Linear(3, 24), Activation("silu"), Linear(24, 24), Activation("tanh"), Linear(24, 4)], (3,)),
        nn.Sequential(nn.Linear(3, 24), nn.SiLU(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 4)),
    ),
    "convolutions": lambda: (
        Network([Conv(1, 4), Activation("relu"), Pool(), Flatten(), Linear(64, 4)], (1, 8, 8)),
        nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 4)),
    ),
}


def trained_here(network: Network, x: np.ndarray, y: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Weights after a few steps, and their output for `x`."""
    tensors = {name: Tensor.from_numpy(array, name) for name, array in network.init(RANDOM).items()}
    with (
        Tensor.from_numpy(x) as x_tensor,
        Tensor.from_numpy(y) as expected,
        learn.Adam(list(tensors.values()), RATE) as adam,
    ):
        for _ in range(STEPS):
            learn.l2_loss(network.apply(x_tensor, tensors), expected).backward()
            adam.step()
        with no_grad():
            found = network.apply(x_tensor, tensors).numpy()
    weights = {name: tensor.numpy().copy() for name, tensor in tensors.items()}
    for tensor in tensors.values():
        tensor.close()
    return weights, found


@pytest.mark.parametrize("pair", PAIRS)
def test_weights_are_exchanged_in_both_directions(tmp_path: Path, pair: str) -> None:
    network, module = PAIRS[pair]()
    x, y = (RANDOM.normal(size=(16, *shape)).astype(np.float32) for shape in (network.input_shape, (4,)))
    x_tensor, path = torch.from_numpy(x), tmp_path / "weights.safetensors"

    weights, found = trained_here(network, x, y)
    path.write_bytes(to_safetensors(weights))
    module.load_state_dict(files.load_file(str(path)), strict=True)
    np.testing.assert_allclose(module(x_tensor).detach().numpy(), found, rtol=1e-5, atol=1e-5)

    for _ in range(STEPS):  # explicit: torch.optim loads its own LLVM, in addition to that of a software adapter
        module.zero_grad()
        nn.functional.mse_loss(module(x_tensor), torch.from_numpy(y)).backward()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter -= RATE * parameter.grad
    there = module(x_tensor).detach().numpy()
    assert np.abs(there - found).max() > 0.01, "it learned something"
    files.save_file(module.state_dict(), str(path))
    tensors = {name: Tensor.from_numpy(array) for name, array in read_arrays(path).items()}
    with no_grad(), Tensor.from_numpy(x) as inputs:
        np.testing.assert_allclose(network.apply(inputs, tensors).numpy(), there, rtol=1e-5, atol=1e-5)
