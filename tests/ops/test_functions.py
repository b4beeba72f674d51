"""The values of every elementwise function, against NumPy in float64.

Division is correctly rounded; reciprocal is within 2.5 ulp and inverseSqrt within 2 by the WGSL specification,
"Floating Point Accuracy"; all other functions are implemented in shaders/common with a tolerance of 1e-6 of the value,
most with less. Subnormal numbers may be flushed to 0, so none are tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import special

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError
from vertigrad.ops import network_functions
from vertigrad.ops.expression import OPERATIONS

from .activations import ACTIVATIONS
from .layouts import NUMPY, values

ULP = 2.0**-23
Error = Callable[..., Any]  # of the exact result and the operands: the absolute error allowed


class Case(NamedTuple):
    """Operands are drawn between the bounds of `domain`, evenly or (if the lower is positive) over all magnitudes."""

    reference: Callable[..., np.ndarray]
    error: Error
    domain: tuple[float, float] = (-100.0, 100.0)


def ulps(count: float) -> Error:
    return lambda want, *_: count * ULP * np.abs(want)


def absolute(error: float) -> Error:
    return lambda want, *_: error + 2 * ULP * np.abs(want)


EXACT = ulps(0.5)
NEAR = ulps(4)
FAR = ulps(8)  # 1e-6
SIGMOID = special.expit
UNARY = {
    "negative": Case(np.negative, EXACT),
    "absolute": Case(np.abs, EXACT),
    "sign": Case(np.sign, EXACT),
    "square": Case(np.square, EXACT),
    "reciprocal": Case(np.reciprocal, ulps(2.5), (1e-30, 1e30)),
    "floor": Case(np.floor, EXACT, (-9, 9)),
    "ceil": Case(np.ceil, EXACT, (-9, 9)),
    "round": Case(np.round, EXACT, (-9, 9)),
    "trunc": Case(np.trunc, EXACT, (-9, 9)),
    "sqrt": Case(np.sqrt, NEAR, (1e-30, 1e30)),
    "rsqrt": Case(lambda x: 1 / np.sqrt(x), ulps(2), (1e-30, 1e30)),
    "exp": Case(np.exp, NEAR, (-86, 88)),
    "exp2": Case(np.exp2, NEAR, (-125, 127)),
    "expm1": Case(np.expm1, NEAR, (-80, 80)),
    "log": Case(np.log, NEAR, (1e-37, 3e38)),
    "log2": Case(np.log2, NEAR, (1e-37, 3e38)),
    "log1p": Case(np.log1p, FAR, (-0.99, 300)),
    "sin": Case(np.sin, ulps(3), (-1000, 1000)),
    "cos": Case(np.cos, ulps(3), (-1000, 1000)),
    "tan": Case(np.tan, ulps(8), (-1000, 1000)),
    "arcsin": Case(np.arcsin, FAR, (-1, 1)),
    "arccos": Case(np.arccos, lambda want, _: 2.5e-7 + 2 * ULP * want, (-1, 1)),
    "arctan": Case(np.arctan, NEAR, (-1e4, 1e4)),
    "sinh": Case(np.sinh, FAR, (-88, 88)),
    "cosh": Case(np.cosh, FAR, (-88, 88)),
    "tanh": Case(np.tanh, NEAR, (-20, 20)),
    "arcsinh": Case(np.arcsinh, NEAR, (-1e5, 1e5)),
    "arccosh": Case(np.arccosh, FAR, (1.001, 1e15)),
    "arctanh": Case(np.arctanh, FAR, (-0.9999, 0.9999)),
    "erf": Case(special.erf, NEAR, (-6, 6)),
    "sigmoid": Case(SIGMOID, FAR, (-80, 80)),
    "relu": Case(lambda x: np.maximum(x, 0), EXACT),
    "silu": Case(lambda x: x * SIGMOID(x), FAR, (-80, 80)),
    "gelu": Case(lambda x: x * special.ndtr(x), lambda want, x: 2e-6 * np.abs(want), (-6, 9)),
    "gelu_tanh": Case(lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))), ulps(32), (-4, 9)),
    "hard_swish": Case(lambda x: x * np.clip(x / 6 + 0.5, 0, 1), absolute(4e-7), (-9, 9)),
    "mish": Case(lambda x: x * np.tanh(np.logaddexp(0, x)), FAR, (-80, 80)),
    "softplus": Case(lambda x: np.logaddexp(0, x), FAR, (-80, 80)),
    "softsign": Case(lambda x: x / (1 + np.abs(x)), NEAR),
}
BINARY = {
    "add": Case(np.add, EXACT),
    "subtract": Case(np.subtract, EXACT),
    "multiply": Case(np.multiply, EXACT),
    "divide": Case(np.divide, EXACT),
    "minimum": Case(np.minimum, EXACT),
    "maximum": Case(np.maximum, EXACT),
    "arctan2": Case(np.arctan2, FAR),
    "power": Case(np.power, FAR, (1e-3, 20)),
    "leaky_relu": Case(lambda x, a: np.where(x < 0, a * x, x), EXACT),
    "elu": Case(lambda x, a: np.where(x < 0, a * np.expm1(x), x), FAR, (-20, 20)),
    "celu": Case(lambda x, a: np.where(x < 0, a * np.expm1(x / a), x), lambda w, x, a: 1e-6 * np.abs(w), (0.1, 9)),
    "thresholded_relu": Case(lambda x, a: np.where(x > a, x, 0), EXACT),
    "swish": Case(lambda x, a: x * SIGMOID(a * x), lambda w, x, a: (9 + np.abs(a * x)) * ULP * np.abs(w), (-8, 8)),
    "truncate_divide": Case(lambda x, y: np.trunc(x / y), lambda w, x, y: np.abs(w) * 0 + 1, (-50, 50)),
}
ORDER = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
LOGIC = ["logical_and", "logical_or", "logical_xor"]
BITS = ["bitwise_and", "bitwise_or", "bitwise_xor"]


def drawn(domain: tuple[float, float], seed: int, count: int = 2000) -> np.ndarray:
    low, high = domain
    random = np.random.default_rng(seed)
    if low > 0:
        return np.exp(random.uniform(np.log(low), np.log(high), count)).astype(np.float32)
    spread = random.uniform(low, high, count) * random.choice([1.0, 1e-1, 1e-3], count)
    return np.append(spread, [low, high, 0.5 * high, 0.25 * high, 0.25 * low]).astype(np.float32)


def compare(name: str, case: Case, operands: list[np.ndarray]) -> None:
    got = getattr(ops, name)(*(Tensor.from_numpy(x) for x in operands)).numpy().astype(np.float64)
    exact = [x.astype(np.float64) for x in operands]
    want = case.reference(*exact)
    allowed = case.error(want, *exact) + 2.0**-126
    if (
        operands[0].dtype == np.float16
    ):  # rounded once more, to an adjacent number; subnormal numbers may be flushed to 0
        allowed = allowed + 2.0**-10 * np.abs(want) + 2.0**-14
        got, want = np.clip(got, -65504, 65504), np.clip(want, -65504, 65504)
    worst = np.argmax(np.abs(got - want) - allowed)
    assert np.all(np.abs(got - want) <= allowed), (
        f"{name}({', '.join(str(x[worst]) for x in operands)}) gave {got[worst]}, not {want[worst]}"
    )


@pytest.mark.parametrize("name", UNARY)
def test_unary_f32(name: str):
    compare(name, UNARY[name], [drawn(UNARY[name].domain, 1)])


@pytest.mark.parametrize("name", BINARY)
def test_binary_f32(name: str):
    domain = BINARY[name].domain
    x, y = drawn(domain, 2), drawn(domain, 3)
    compare(name, BINARY[name], [x, np.where(y == 0, np.float32(1), y)])


def test_a_quotient_is_the_closest_float():
    """As NumPy has it, bit by bit, of numbers and quotients that are not subnormal, and of integers and eighths."""
    random = np.random.default_rng(13)
    x, y = (every_magnitude(random, 400_000)[:390_000] for _ in range(2))
    x = np.append(x, random.integers(-2000, 2000, 200_000)).astype(np.float32)
    y = np.append(y, random.integers(1, 2000, 200_000) / 8).astype(np.float32)
    with np.errstate(all="ignore"):
        want = x / y
    is_normal = np.isfinite(want) & (np.abs(want) >= 2.0**-125) & (np.minimum(np.abs(x), np.abs(y)) >= 2.0**-125)
    is_normal &= np.maximum(np.maximum(np.abs(x), np.abs(y)), np.abs(want)) < 2.0**126  # as WGSL has it
    got = ops.divide(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    np.testing.assert_array_equal(got[is_normal], want[is_normal])


@pytest.mark.parametrize("name", ["exp", "sin", "sqrt", "tanh", "divide", "minimum", "add", "power"])
def test_f16_is_computed_in_f32_and_rounded_once(name: str):
    case = (UNARY | BINARY)[name]
    low, high = max(case.domain[0], -8.0), min(case.domain[1], 8.0)
    operands = [drawn((max(low, 1e-2) if low > 0 else low, high), seed).astype(np.float16) for seed in (4, 5)]
    compare(name, case, operands[: 1 if name in UNARY else 2])


def test_power_of_negative_numbers():
    x = np.array([-2, -2, -2, -2, -1.5, 0, 0, 3, 1, -1], np.float32)
    y = np.array([3, 2, 0, -1, 0.5, 2, 0, 0, np.inf, 5], np.float32)
    got = ops.power(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    np.testing.assert_allclose(got, [-8, 4, 1, -0.5, np.nan, 0, 1, 1, 1, -1], rtol=4 * ULP)


@pytest.mark.parametrize(("name", "limit"), [("sin", 3), ("cos", 3), ("tan", 8)])
def test_angles_of_any_size(name: str, limit: int):
    """All magnitudes of f32, and numbers adjacent to multiples of π/2, where digits cancel."""
    random = np.random.default_rng(11)
    x = every_magnitude(random, 100_000)
    quarters = np.concatenate([np.arange(30_000), random.integers(1, 2**45, 30_000)]) * (np.pi / 2)
    borders = [1e6, 1e9, 16367173 * 2.0**72, 11999.999, 12000.0, -12000.0, 3.4028235e38, -3.4028235e38, 0.0]
    x = np.concatenate([x, quarters.astype(np.float32), -quarters.astype(np.float32), np.array(borders, np.float32)])
    compare(name, Case(getattr(np, name), ulps(limit)), [x])


def test_angles_at_the_edges():
    x = Tensor.from_numpy(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0], np.float32))
    for name, zero in (("sin", 0.0), ("cos", 1.0), ("tan", 0.0)):
        got = getattr(ops, name)(x).numpy()
        assert np.array_equal(got, [np.nan, np.nan, np.nan, zero, zero], equal_nan=True)
    assert np.signbit(ops.sin(x).numpy()[3:]).tolist() == [False, True]


def every_magnitude(random: np.random.Generator, count: int) -> np.ndarray:
    """Finite numbers with uniformly random bits; none subnormal."""
    x = random.integers(0, 2**32, count, dtype=np.uint32).view(np.float32)
    return x[np.isfinite(x) & (np.abs(x) >= 2.0**-126)]


def dividends_and_divisors() -> tuple[np.ndarray, np.ndarray]:
    """Of both signs, with quotients of all magnitudes, integer ones, and those too large for a fraction in f32."""
    random = np.random.default_rng(12)
    edges = np.array([*SPECIAL, 0.1, 7.0, 1e8, 3e38, 16777216.0, 1.5], np.float32)
    x = [np.repeat(edges, len(edges)), drawn((-50, 50), 6)[:2000], random.uniform(-1e8, 1e8, 2000)]
    y = [np.tile(edges, len(edges)), drawn((-7, 7), 7)[:2000], random.uniform(-3, 3, 2000)]
    wide = every_magnitude(random, 20_000)
    whole = random.integers(-300, 300, 2000)
    x += [wide, (whole * random.integers(1, 9, 2000)) * 0.25]
    y += [np.roll(wide, 1), np.where(whole == 0, 1, whole) * 0.25]
    return np.concatenate(x).astype(np.float32), np.concatenate(y).astype(np.float32)


@pytest.mark.parametrize("name", ["fmod", "remainder"])
def test_remainders_are_exact(name: str):
    x, y = dividends_and_divisors()
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    subnormal = (np.abs(want) < 2.0**-126) & (want != 0)
    wrong = np.flatnonzero(~subnormal & ~same_bits(got, want))
    assert not wrong.size, f"{name}({x[wrong]}, {y[wrong]}) gave {got[wrong]}, not {want[wrong]}"


@pytest.mark.parametrize("name", ["floor_divide", "truncate_divide"])
def test_integer_quotients_are_exact_up_to_the_precision_of_f32(name: str):
    x, y = dividends_and_divisors()
    with np.errstate(all="ignore"):
        rest = np.remainder(x, y) if name == "floor_divide" else np.fmod(x, y)
        exact = (x.astype(np.float64) - rest) / y
        zero = np.copysign(np.float64(0), x.astype(np.float64) / y)
        want = np.where(y == 0, x / y, np.where(exact == 0, zero, np.round(exact))).astype(np.float32)
    if name == "floor_divide":  # below 0 by less than f32 holds of it: -1
        want = np.where(np.isfinite(x) & (y != 0) & (x != 0) & ((x < 0) != (y < 0)) & (np.abs(x) < np.abs(y)), -1, want)
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    near = np.abs(want) <= 2.0**24
    wrong = np.flatnonzero(~np.where(near | ~np.isfinite(want), same_bits(got, want), True))
    assert not wrong.size, f"{name}({x[wrong]}, {y[wrong]}) gave {got[wrong]}, not {want[wrong]}"
    far = ~near & np.isfinite(want)
    np.testing.assert_allclose(got[far], want[far], rtol=2 * ULP)
    assert ops.floor_divide(Tensor.full(1, 1.0), 0.1).item() == 9.0 and ops.floor_divide(-1.0, 0.1).item() == -10.0


def same_bits(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Compare element by element; all NaNs are equal."""
    return (np.isnan(got) & np.isnan(want)) | ((got == want) & (np.signbit(got) == np.signbit(want)))


def test_clip_and_where():
    x = drawn((-9, 9), 8)
    got = ops.clip(Tensor.from_numpy(x), -2.0, 3.0).numpy()
    assert np.array_equal(got, np.clip(x, -2, 3))
    assert ops.clip(Tensor.from_numpy(np.array([-5, 0, 9], np.int32)), 1, -1).numpy().tolist() == [-1, -1, -1]


@pytest.mark.parametrize("name", [*ORDER, *LOGIC])
def test_nan_and_infinity_compare_as_in_ieee_754(name: str):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    a, b = np.repeat(x, len(x)), np.tile(x, len(x))
    got = getattr(ops, name)(Tensor.from_numpy(a), Tensor.from_numpy(b))
    assert got.dtype.name == "bool"
    assert np.array_equal(got.numpy(), getattr(np, name)(a, b))


@pytest.mark.parametrize("name", ["sign", "tanh", "sinh", "cosh", "relu", "isnan", "isinf", "logical_not", "absolute"])
def test_nan_and_infinity_propagate(name: str):
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    reference = {"relu": lambda x: np.maximum(x, 0)}.get(name) or getattr(np, name)
    assert np.array_equal(getattr(ops, name)(Tensor.from_numpy(x)).numpy(), reference(x), equal_nan=True)


@pytest.mark.parametrize("name", ["minimum", "maximum"])
def test_nan_propagates_through_minimum_and_maximum(name: str):
    x = np.array([np.nan, 1.0, np.nan, np.inf], np.float32)
    y = np.array([1.0, np.nan, -np.inf, -np.inf], np.float32)
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    assert np.array_equal(got, getattr(np, name)(x, y), equal_nan=True)


EDGES = {
    "i32": [0, 1, -1, 2, 7, 2**31 - 1, -(2**31)],
    "u32": [0, 1, 2, 7, 2**31, 2**32 - 1],
    "u8": [0, 1, 2, 7, 128, 255],
}
INTEGER = ["add", "subtract", "multiply", "floor_divide", "remainder", "power", "minimum", "maximum", *ORDER, *BITS]


@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize("name", INTEGER)
def test_integers_wrap_as_numpys_do(name: str, dtype: str):
    edges = np.array(EDGES[dtype], NUMPY[dtype])
    x = np.concatenate([values((200,), dtype, 9), np.repeat(edges, len(edges))])
    y = np.concatenate([values((200,), dtype, 10), np.tile(edges, len(edges))])
    if name == "power":
        y = np.where(y.astype(np.int64) < 0, 3, y).astype(y.dtype)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    assert got.dtype == want.dtype
    wrong = np.flatnonzero(got != want)
    assert not wrong.size, f"{name}({x[wrong]}, {y[wrong]}) gave {got[wrong]}, not {want[wrong]}"


@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize("name", ["negative", "absolute", "sign", "square", "invert", "floor", "relu"])
def test_integers_of_one_operand(name: str, dtype: str):
    x = np.array(EDGES[dtype], NUMPY[dtype])
    reference = {"relu": lambda x: np.maximum(x, 0), "floor": lambda x: x}.get(name) or getattr(np, name)
    with np.errstate(all="ignore"):
        assert np.array_equal(getattr(ops, name)(Tensor.from_numpy(x)).numpy(), reference(x))


@pytest.mark.parametrize("dtype", ["i32", "u32"])
def test_shifts(dtype: str):
    x = np.repeat(np.array(EDGES[dtype], NUMPY[dtype]), 5)
    by = np.tile(np.array([0, 1, 4, 31, 32], NUMPY[dtype]), len(EDGES[dtype]))
    left = ops.left_shift(Tensor.from_numpy(x), Tensor.from_numpy(by)).numpy()
    right = ops.right_shift(Tensor.from_numpy(x), Tensor.from_numpy(by)).numpy()
    wide, by = x.astype(np.int64), by.astype(np.int64)
    assert np.array_equal(left, (wide << by).astype(NUMPY[dtype]))
    assert np.array_equal(right, (wide >> by).astype(NUMPY[dtype]))


@pytest.mark.parametrize("dtype", ["i32", "u32"])
def test_division_and_remainder_as_in_c(dtype: str):
    x = np.repeat(values((40,), dtype, 21), 40)
    y = np.tile(values((40,), dtype, 22), 40)
    x, y = x[y != 0], y[y != 0]
    quotient = ops.truncate_divide(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    rest = ops.fmod(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    exact = x.astype(np.float64) / y
    assert np.array_equal(rest, np.fmod(x, y))
    assert np.array_equal(quotient, np.trunc(exact).astype(NUMPY[dtype]))


def test_functions_of_three_operands():
    x = drawn((-9, 9), 31)
    a = Tensor.from_numpy(x)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(ops.selu(a, 2.0, 3.0).numpy(), 3 * np.where(wide < 0, 2 * np.expm1(wide), wide), 1e-6)
    np.testing.assert_allclose(ops.hard_sigmoid(a).numpy(), np.clip(0.2 * wide + 0.5, 0, 1), rtol=1e-5, atol=1e-7)
    want = np.where(wide < -1.5, wide + 1, np.where(wide > 1.5, wide - 1, 0))
    np.testing.assert_allclose(ops.shrink(a, 1, 1.5).numpy(), want, rtol=1e-6)
    assert ops.shrink(Tensor.from_numpy(np.array([-3, -1, 1, 3], np.int32)), 1, 1).numpy().tolist() == [-2, 0, 0, 2]


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e-30, -1e30, 1e30]


@pytest.mark.parametrize("name", ["power", "arctan2"])
def test_special_values_of_two_operands(name: str):
    x = np.repeat(np.array(SPECIAL, np.float32), len(SPECIAL))
    y = np.tile(np.array(SPECIAL, np.float32), len(SPECIAL))
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x, y)
    want = np.where(np.abs(want) < 2.0**-126, np.copysign(0, want), want)
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6, err_msg=name)
    zero = want == 0
    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


@pytest.mark.parametrize(
    "name",
    [
        *("exp", "exp2", "expm1", "log", "log2", "log1p", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh"),
        *("arcsinh", "arccosh", "arctanh", "isposinf", "isneginf", "isfinite", "floor", "sqrt"),
    ],
)
def test_special_values_of_one_operand(name: str):
    x = np.array([*SPECIAL, 1e5, -1e5, 200.0, -200.0], np.float32)
    with np.errstate(all="ignore"):
        want = getattr(np, name)(x)
    got = getattr(ops, name)(Tensor.from_numpy(x)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-37, err_msg=name)


def test_power_keeps_its_digits_where_the_result_is_large():
    random = np.random.default_rng(5)
    x = np.exp(random.uniform(-20, 20, 20000)).astype(np.float32)
    y = (random.uniform(-86, 86, 20000) / np.log(x)).astype(np.float32)
    want = x.astype(np.float64) ** y
    got = ops.power(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_integers_to_negative_powers():
    x, y = np.array([2, 1, -1, -1, 0], np.int32), np.array([-1, -5, -5, -4, -1], np.int32)
    assert ops.power(Tensor.from_numpy(x), Tensor.from_numpy(y)).numpy().tolist() == [0, 1, -1, 1, 0]


@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum", *ORDER, *LOGIC, *BITS])
def test_bools(name: str):
    x, y = np.array([False, False, True, True]), np.array([False, True, False, True])
    got = getattr(ops, name)(Tensor.from_numpy(x), Tensor.from_numpy(y))
    assert got.dtype.name == "bool"
    assert np.array_equal(got.numpy(), getattr(np, name)(x, y))


@pytest.mark.parametrize("name", ["sqrt", "sin", "divide"])
def test_integers_and_bools_become_f32_where_the_result_is_not_an_integer(name: str):
    for x in (np.array([1, 2, 9], np.int32), np.array([1, 2, 255], np.uint8), np.array([True, True])):
        operands = [x] if name in UNARY else [x, x]
        got = getattr(ops, name)(*(Tensor.from_numpy(o) for o in operands))
        assert got.dtype.name == "f32"
        np.testing.assert_allclose(got.numpy(), getattr(np, name)(*(o.astype(np.float64) for o in operands)), rtol=1e-6)


def test_every_elementwise_function_is_tested():
    others = {"assign", "floor_divide", "remainder", "fmod", "clip", "where", "isnan", "isinf", "isposinf", "isneginf"}
    others |= {"isfinite", "logical_not", "invert", "left_shift", "right_shift", "selu", "hard_sigmoid", "shrink"}
    assert {*UNARY, *BINARY, *ORDER, *LOGIC, *BITS, *others} == set(OPERATIONS)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"assign"}))
def test_every_operation_is_a_documented_function(name: str):
    function = getattr(ops, name)
    assert name in ops.__all__
    assert function.__name__ == name and function.__doc__
    with pytest.raises(TypeError):
        function()


def test_bits_of_floats_are_refused():
    with pytest.raises(DtypeError, match="bitwise_and is not defined for f32"):
        ops.bitwise_and(Tensor.zeros((2,)), 1.0)


def test_default_parameters_are_those_of_onnx():
    x = np.linspace(-7, 7, 57, dtype=np.float32)
    named = {name: function for name, function in ACTIVATIONS.items() if name in network_functions.__all__}
    named["swish"] = named["silu"]
    named["shrink"] = lambda a: np.where(np.abs(a) > 0.5, a, 0.0)
    for name, function in named.items():
        expected = function(x.astype(np.float64))
        np.testing.assert_allclose(getattr(ops, name)(x).numpy(), expected, rtol=1e-5, atol=1e-6, err_msg=name)
    assert set(network_functions.__all__) <= named.keys()
