"""Initial state of training: weights of a file, or a checkpoint, from which it goes on bit for bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ...learn.export import to_safetensors
from ...tensor import Tensor
from ...tensor.weights import read_arrays, require_fitting

CHECKPOINT = ".checkpoint"  # a file of safetensors
TAKEN = "taken"


def read_start(path: Path, expected: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Weights of a file. Raises `InputError` if they are not those of this network."""
    found = read_arrays(path)
    require_fitting(path, found, {name: array.shape for name, array in expected.items()})
    return {name: np.ascontiguousarray(found[name]).astype(np.float32) for name in expected}


def checkpoint(tensors: Mapping[str, Tensor], taken: int) -> bytes:
    """A file of all that a model knows after so many steps."""
    return to_safetensors({**{name: tensor.numpy() for name, tensor in tensors.items()}, TAKEN: np.array([taken])})


def restore(path: Path, tensors: Mapping[str, Tensor]) -> int:
    """Set all that a model knows from a checkpoint; returns the steps taken. Raises `InputError` if it does not fit."""
    found = read_arrays(path)
    require_fitting(path, found, {**{name: tensor.shape for name, tensor in tensors.items()}, TAKEN: (1,)})
    for name, tensor in tensors.items():
        tensor[...] = np.ascontiguousarray(found[name]).astype(np.float32)
    return int(found[TAKEN][0])
