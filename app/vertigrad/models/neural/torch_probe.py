"""What a network in PyTorch returns, found by running it once on the CPU; and the first values of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from .feeds import Fixed, Noise
from .torch_file import TorchFile, choose, named
from .torch_table import Arguments, Fed, Result

_DTYPES = {"float16": "f16", "uint8": "u8", "bool": "bool", "uint32": "u32"}  # others are f32 or i32
_probed: dict[str, dict[str, Result]] = {}  # outputs of networks, by what they depend on


def python_value(value: Any, default: Any) -> Any:
    """The value of a parameter in a scene, or the default if there is none of its type, which is reported elsewhere."""
    return value if type(value) is type(default) or (type(value) is int and type(default) is float) else default


def probe(
    source: TorchFile,
    weights: Path | None,
    arguments: Arguments,
    values: Mapping[str, Any],
    results: Mapping[str, Result] | None,
) -> dict[str, Result]:
    """Run the network once on the CPU, and take shapes and dtypes from what it returns."""
    import torch

    stamps = [(path, path.stat().st_mtime_ns) for path in (source.file, weights) if path is not None]
    key = repr((stamps, source.entry, arguments.fed, arguments.times, values, results))
    if key not in _probed:
        network = source.checked(source.network("cpu", weights))
        fed = {name: first_values(fed, np.random.default_rng(0), "cpu") for name, fed in arguments.fed.items()}
        with torch.no_grad(), torch.random.fork_rng([]):
            found = network(**fed, **values, **dict.fromkeys(arguments.times, 0.0))
        keys = named(found) if results is None else {name: result.key for name, result in results.items()}
        tensors = {name: choose(found, one, source.file.name) for name, one in keys.items()}
        for name, tensor in tensors.items():
            if not isinstance(tensor, torch.Tensor):
                raise InputError(f"{source.file.name}: output {name} is no tensor but {type(tensor).__name__}")
        _probed[key] = {
            name: Result(keys[name], tuple(tensor.shape) or (1,), _dtype(tensor)) for name, tensor in tensors.items()
        }
    return _probed[key]


def _dtype(tensor: Any) -> str:
    name = str(tensor.dtype).removeprefix("torch.")
    return _DTYPES.get(name, "f32" if tensor.is_floating_point() else "i32")


def first_values(fed: Fed, random: np.random.Generator, device: Any) -> Any:
    """The tensor of an input with its first values."""
    match fed.feed:
        case Fixed(array=array):
            array = np.broadcast_to(array.astype(np.float32) if array.dtype.kind == "f" else array, fed.shape)
        case Noise() as noise:
            array = noise.start(fed.shape, random)
        case _:
            array = np.zeros(fed.shape, np.float32)
    return from_numpy(np.ascontiguousarray(array).reshape(fed.shape)).to(device)


def from_numpy(array: np.ndarray) -> Any:
    """A tensor on the CPU of a copy of the array."""
    import torch

    return torch.from_numpy(array.copy())
