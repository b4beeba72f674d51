"""f64, which networks have: functions, sorting, products and sums against NumPy, with all edges; no f32 in between."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import ops, resources
from vertigrad.errors import DtypeError
from vertigrad.gpu import Gpu
from vertigrad.ops.doubles import DOUBLES
from vertigrad.tensor import Tensor, f32
from vertigrad.tensor.doubles import from_doubles

CLOSE = 1e-14
LIBRARY = "exp2?|log2?|a?(sin|cos|tan)h?|atan2|pow|inverseSqrt|fma|frexp"
FILES = ("double", "double_powers", "double_angles", "double_activation")
_rng = np.random.default_rng(7)
EDGES = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.2e-308, 1e-20, 1e300, -1.7e308),
        *(709.7, 709.8, -745.1, -745.2, -708.0, 0.5, -0.5, 1e22, 1e5, 1e6, 123456789.123, 40.0, -0.29, 0.41),
        *(1 + 1e-15, 1 - 1e-15, 0.84375, 1.25, 2.857142857, 6.0, 28.0, -28.0, 2.0**53, 7 / 16, 11 / 16, 39 / 16),
        6381956970095103 * 2.0**797,  # the double nearest to a multiple of pi/2, but for 5e-19
    ]
)
NUMBERS = np.concatenate(
    [
        *(EDGES, _rng.normal(size=500), _rng.uniform(-1, 1, 500), _rng.uniform(-750, 720, 300)),
        *(np.exp(_rng.uniform(-740, 709, 500)) * _rng.choice([-1, 1], 500), np.arange(1, 400) * np.pi / 2),
        1 + 1e-3 * _rng.normal(size=300),
    ]
)
_erf = np.vectorize(math.erf, otypes=[np.float64])
_erfc = np.vectorize(math.erfc, otypes=[np.float64])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan")},
    **{name: getattr(np, name) for name in ("sinh", "cosh", "tanh", "floor", "ceil", "round", "trunc", "sqrt", "sign")},
    **{f"arc{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: getattr(np, name) for name in ("absolute", "negative", "square", "reciprocal", "isnan", "isinf")},
    "isfinite": np.isfinite,
    "erf": _erf,
    "relu": lambda x: np.maximum(x, 0.0),
    "softplus": lambda x: np.logaddexp(0.0, x),
    "sigmoid": lambda x: np.where(x < 0, np.exp(-abs(x)), 1.0) / (1.0 + np.exp(-abs(x))),
    "softsign": lambda x: x / (1.0 + abs(x)),
    "rsqrt": lambda x: 1.0 / np.sqrt(x),
}
PAIRS = ("add", "subtract", "multiply", "divide", "power", "fmod", "remainder", "minimum", "maximum", "less", "equal")


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest relative error; infinite for another shape, type or sign, and for NaN and infinity alone in one."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return np.inf
    a, b = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        errors = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, abs(a - b) / np.maximum(abs(b), 2.3e-308))
    errors[(np.signbit(a) != np.signbit(b)) & ~np.isnan(b)] = np.inf
    return float(np.nan_to_num(errors, nan=np.inf).max(initial=0.0))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(f64_gpu: Gpu, name: str) -> None:
    with from_doubles(NUMBERS) as x, np.errstate(all="ignore"):
        assert error(getattr(ops, name)(x).numpy(), FUNCTIONS[name](NUMBERS)) < CLOSE


@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two_numbers(f64_gpu: Gpu, name: str) -> None:
    a = np.concatenate([np.repeat(EDGES, len(EDGES)), np.exp(_rng.uniform(-700, 700, 500)), _rng.normal(size=500)])
    b = np.concatenate([np.tile(EDGES, len(EDGES)), _rng.uniform(-1, 1, 500), _rng.integers(-20, 20, 500)])
    with from_doubles(a) as x, from_doubles(b) as y, np.errstate(all="ignore"):
        found, expected = getattr(ops, name)(x, y).numpy(), getattr(np, name)(a, b)
    if name in ("minimum", "maximum"):  # of 0 and -0 either is the smaller one
        found, expected = found + 0.0, expected + 0.0
    assert error(found, expected) < CLOSE


def test_gelu_is_right_far_below_zero(f64_gpu: Gpu) -> None:
    """1 + erf(x) has no digits left there."""
    x = np.linspace(-20.0, 20.0, 401)
    with from_doubles(x) as tensor:
        assert error(ops.gelu(tensor).numpy() + 0.0, 0.5 * x * _erfc(-x / math.sqrt(2.0)) + 0.0) < 1e-12


def test_no_function_of_wgsl_is_used_that_is_wrong_in_f64() -> None:
    """They compile, and give wrong numbers in silence."""
    texts = [resources.shader(f"common/{name}.wgsl") for name in FILES] + list(DOUBLES.values())
    called = re.compile(rf"(?<![\w.])(?:{LIBRARY})\(")
    code = [re.sub(r"//[^\n]*", "", text) for text in texts]
    assert not [match[0] for text in code for match in called.finditer(text)]
    assert called.search("x = exp(y)") and not called.search("double_exp(y)")


def test_f64_is_not_narrowed_but_by_a_cast_of_the_network(f64_gpu: Gpu) -> None:
    with from_doubles(np.array([0.1])) as x, Tensor.from_numpy(np.zeros(1, np.float32)) as narrow:
        into = narrow[0]
        for attempt in (lambda: x.to(f32), lambda: ops.assign(narrow, x), lambda: ops.sum(x, out=into)):
            with pytest.raises(DtypeError, match="f64"):
                attempt()


def test_numbers_keep_their_digits(f64_gpu: Gpu) -> None:
    with from_doubles(np.array([1.0, 2.0])) as x:
        assert error(ops.full(3, 0.1, x.dtype).numpy(), np.full(3, 0.1)) == 0.0
        assert error((x * 0.1 + 1e-12).numpy(), np.array([1.0, 2.0]) * 0.1 + 1e-12) < 1e-15
        assert error(ops.where(x > 1.5, 0.1, x).numpy(), np.array([1.0, 0.1])) == 0.0
        x[0] = 0.3
        assert error(x.numpy(), np.array([0.3, 2.0])) == 0.0


def test_arrays_of_users_are_refused_as_before(gpu: Gpu) -> None:
    with pytest.raises(DtypeError, match=r"\.astype\(numpy\.float32\)"):
        Tensor.from_numpy(np.zeros(3))
    with pytest.raises(DtypeError, match="f64"):
        Tensor.zeros(3, "f64")


def test_long_reductions(f64_gpu: Gpu) -> None:
    """In two passes, with partial results between them."""
    x = np.random.default_rng(2).uniform(0.5, 1.0, 200_001)
    with from_doubles(x) as tensor:
        for function, expected in ((ops.sum, x.sum()), (ops.mean, x.mean()), (ops.max, x.max()), (ops.min, x.min())):
            np.testing.assert_allclose(function(tensor).numpy(), expected, rtol=1e-13)
        assert ops.argmax(tensor).item() == x.argmax()


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_and_knows_zeros_and_nan(f64_gpu: Gpu, descending: bool) -> None:
    x = np.random.default_rng(5).permutation(np.concatenate([EDGES, EDGES, -EDGES, NUMBERS[50:300]]))
    x = np.stack([x, x[::-1], np.round(x)], 1)
    order = np.argsort(-x if descending else x, axis=0, kind="stable")  # NumPy has NaN last, too
    with from_doubles(x) as tensor:
        np.testing.assert_array_equal(ops.argsort(tensor, 0, descending=descending).numpy(), order)
        expected = np.take_along_axis(x, order, 0)
        np.testing.assert_array_equal(ops.sort(tensor, 0, descending=descending).numpy(), expected)


@pytest.mark.parametrize("sizes", [(1, 300, 5), (9, 64, 9), (70, 33, 45), (33, 129, 64)])
def test_products_of_all_sizes(f64_gpu: Gpu, sizes: tuple[int, int, int]) -> None:
    rows, inner, columns = sizes
    a, b = (
        np.random.default_rng(1).normal(size=(2, rows, inner)),
        np.random.default_rng(2).normal(size=(columns, inner)),
    )
    with from_doubles(a) as left, from_doubles(b) as right:
        for x, y, expected in ((left, right.T, a @ b.T), (right, left.permute(0, 2, 1), b @ a.swapaxes(1, 2))):
            np.testing.assert_allclose(ops.matmul(x, y).numpy(), expected, rtol=1e-12, atol=1e-12)
