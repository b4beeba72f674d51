"""Every family of variants there is, and the problems that its classes of sizes are measured by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from ..closing import Closing
from ..tensor import Tensor, f32
from .mlp import Mlp
from .mlp_packing import pack
from .mlp_training import BACKWARDS, Backward, key, mlp_backward
from .mlp_variants import NETWORKS, Form, Network
from .product import product
from .product_variants import LINES, TILES, Lines, Tile, lines_class, tiles_class
from .tuning import Tuned

CHECKED = 16  # rows of a result that are compared
SEED = 1
WIDTHS = (16, 32, 64, 128)  # of networks


class _Problem(Closing):
    _operands: tuple[Closing, ...]

    def close(self) -> None:
        for operand in self._operands:
            operand.close()


class ProductProblem(_Problem):
    """a b of one size, a (rows, inner), b (inner, columns), read transposed if `column_major`."""

    def __init__(self, rows: int, inner: int, columns: int, column_major: bool):
        random = np.random.default_rng(SEED)
        a = random.normal(size=(rows, inner)).astype(np.float32)
        b = random.normal(size=(columns, inner) if column_major else (inner, columns)).astype(np.float32)
        self._pick = np.unique(np.linspace(0, rows - 1, CHECKED).astype(int))
        left, right = a[self._pick].astype(np.float64), (b.T if column_major else b).astype(np.float64)
        self._expected, self._magnitude = left @ right, np.abs(left) @ np.abs(right)
        self._a, self._stored, self._out = Tensor.from_numpy(a), Tensor.from_numpy(b), Tensor.empty((rows, columns))
        self._b = self._stored.T if column_major else self._stored
        self._operands = self._a, self._stored, self._out
        self._allowed = inner * 2.0**-23

    def reset(self) -> None:
        self._out.fill_(np.nan)

    def run(self, variant: Tile | Lines, /) -> None:
        product(self._a, self._b, self._out, variant=variant)

    def error(self) -> float:
        got = np.stack([self._out[int(row)].numpy() for row in self._pick])
        return _worst(np.abs(got - self._expected), self._allowed * self._magnitude)


class NetworkProblem(_Problem):
    """A network from 3 coordinates over three layers of one width to 4 outputs, on `points` points."""

    def __init__(self, points: int, width: int):
        random = np.random.default_rng(SEED)
        sizes = [3, width, width, width, 4]
        weights = [(random.normal(size=(n, m)) * (2.0 / m) ** 0.5).astype(np.float32) for m, n in pairwise(sizes)]
        x = random.normal(size=(points, 3)).astype(np.float32)
        signal = x[:CHECKED].astype(np.float64)
        for number, weight in enumerate(weights):
            signal = (np.maximum(signal, 0.0) if number else signal) @ weight.T.astype(np.float64)
        self._expected = signal
        self._x, self._out = Tensor.from_numpy(x), Tensor.empty((points, 4))
        self._network = Mlp(weights, name="tuning")
        self._operands = self._network, self._x, self._out

    def reset(self) -> None:
        self._out.fill_(np.nan)

    def run(self, variant: Network, /) -> None:
        self._network.run(self._x, self._out, variant)

    def error(self) -> float:
        got = self._out.numpy()
        if np.isnan(got).any():
            return float("inf")
        return _worst(np.abs(got[:CHECKED] - self._expected), 1e-5 * np.abs(self._expected).max())


class BackwardProblem(_Problem):
    """The gradients of all weights of a network as above, tanh between its layers."""

    def __init__(self, points: int, width: int):
        random = np.random.default_rng(SEED)
        self._sizes = [3, width, width, width, 4]
        weights = [random.normal(size=(n, m)) / m**0.5 for m, n in pairwise(self._sizes)]
        x, gradient = random.normal(size=(points, 3)), random.normal(size=(points, 4))
        self._expected = _expected_gradients(weights, x.astype(np.float32), gradient.astype(np.float32))
        self._x, self._gradient = (Tensor.from_numpy(array.astype(np.float32)) for array in (x, gradient))
        self._network = Mlp([weight.astype(np.float32) for weight in weights], name="tuning", requires_grad=True)
        self._packed = pack(self._network.parameters, self._sizes, self._network.form, f32)
        self._operands = self._network, *self._packed, self._x, self._gradient
        self._out: Tensor | None = None

    def reset(self) -> None:
        self._out = Tensor.full(self._expected.size, np.nan)

    def run(self, variant: Backward, /) -> None:
        arguments = self._gradient, self._x, self._packed, self._network.form, self._sizes, "tanh"
        self._out = mlp_backward(*arguments, with_features=False, variant=variant)[1]

    def error(self) -> float:
        assert self._out is not None
        return _worst(np.abs(self._out.numpy() - self._expected), 1e-5 * np.abs(self._expected).max())


def _expected_gradients(weights: list[np.ndarray], x: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """The gradients of weights and biases, which are 0, in float64, in a row."""
    weights = [weight.astype(np.float32).astype(np.float64) for weight in weights]
    signals = [x.astype(np.float64)]
    for weight in weights[:-1]:
        signals.append(np.tanh(signals[-1] @ weight.T))
    back, found = gradient.astype(np.float64), []
    for weight, signal in zip(reversed(weights), reversed(signals), strict=True):
        found[:0] = [(back.T @ signal).reshape(-1), back.sum(0)]
        back = back @ weight * (1.0 - signal**2)
    return np.concatenate(found)


def _worst(error: np.ndarray, allowed: np.ndarray | float) -> float:
    """The largest error in terms of what is allowed; NaN if there is one."""
    return float(np.max(error / np.maximum(allowed, 1e-30)))


def tuned(small: bool) -> list[Tuned]:
    """All families with their problems; `small` ones for adapters that would take minutes over those of a large GPU."""
    points, training_points = (1 << 12, 1 << 10) if small else (1 << 20, 1 << 17)
    networks = {f"{width} {width}": partial(NetworkProblem, points, width) for width in WIDTHS}
    trainings = {
        key(Form.of([3, width, width, width, 4])): partial(BackwardProblem, training_points, width) for width in WIDTHS
    }
    return [
        Tuned(TILES, dict(_of_tiles(32 if small else 1))),
        Tuned(LINES, dict(_of_lines(8 if small else 1))),
        Tuned(NETWORKS, networks),
        Tuned(BACKWARDS, trainings),
    ]


def _of_tiles(less: int) -> Iterator[tuple[str, Callable[[], ProductProblem]]]:
    many = (1 << 20) // less
    for rows, inner, columns in (
        *((4096 if less == 1 else 2048, 4096 // less, 4096 if less == 1 else 2048), (1664, 2048 // less, 1664)),
        *((1024, 1024 // less, 1024), (many, 64, 64), (64, 64, many), (many, 32, 32), (32, 32, many)),
    ):
        yield tiles_class(rows, columns, 1), partial(ProductProblem, rows, inner, columns, False)


def _of_lines(less: int) -> Iterator[tuple[str, Callable[[], ProductProblem]]]:
    for rows in (1, 8):
        for column_major in (False, True):
            size = 4096 // less
            yield lines_class(rows, column_major), partial(ProductProblem, rows, size, size, column_major)
