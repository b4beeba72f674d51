"""Every elementwise operation: its name (NumPy's where it has one), its WGSL by kind of operand, and what it is.

Accuracy is that of WGSL's own functions (WGSL specification, "Floating Point Accuracy") unless something better is
named in shaders/common/math.wgsl; subnormal numbers may count as 0.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy.typing as npt

from ..tensor import Tensor
from .elementwise import OPERATIONS, Operation, elementwise

# fmt: off
__all__ = [
    "Binary", "Operand", "Ternary", "Unary", "absolute", "add", "arccos", "arcsin", "arctan", "arctan2",
    "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "clip", "cos", "cosh", "divide", "equal", "erf",
    "exp", "exp2", "expm1", "floor", "floor_divide", "gelu", "greater", "greater_equal", "invert", "isinf",
    "isnan", "less", "less_equal", "log", "log1p", "log2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "maximum", "minimum", "multiply", "negative", "not_equal", "power", "reciprocal", "relu",
    "remainder", "round", "rsqrt", "sigmoid", "sign", "silu", "sin", "sinh", "sqrt", "square", "subtract",
    "tan", "tanh", "trunc", "where",
]
# fmt: on

Operand: TypeAlias = Tensor | npt.ArrayLike


class Unary(Protocol):
    """A function of one operand."""

    def __call__(self, a: Operand, /, *, out: Tensor | None = None) -> Tensor:
        """The result, in `out` or a new tensor."""
        ...


class Binary(Protocol):
    """A function of two operands, which are broadcast."""

    def __call__(self, a: Operand, b: Operand, /, *, out: Tensor | None = None) -> Tensor:
        """The result, in `out` or a new tensor."""
        ...


class Ternary(Protocol):
    """A function of three operands, which are broadcast."""

    def __call__(self, a: Operand, b: Operand, c: Operand, /, *, out: Tensor | None = None) -> Tensor:
        """The result, in `out` or a new tensor."""
        ...


def _unary(name: str, operation: Operation, doc: str) -> Unary:
    def function(a: Operand, /, *, out: Tensor | None = None) -> Tensor:
        return elementwise(name, a, out=out)

    return _named(function, name, operation, doc)


def _binary(name: str, operation: Operation, doc: str) -> Binary:
    def function(a: Operand, b: Operand, /, *, out: Tensor | None = None) -> Tensor:
        return elementwise(name, a, b, out=out)

    return _named(function, name, operation, doc)


def _ternary(name: str, operation: Operation, doc: str) -> Ternary:
    def function(a: Operand, b: Operand, c: Operand, /, *, out: Tensor | None = None) -> Tensor:
        return elementwise(name, a, b, c, out=out)

    return _named(function, name, operation, doc)


def _named(function: Any, name: str, operation: Operation, doc: str) -> Any:
    OPERATIONS[name] = operation
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{doc}; elementwise, into `out` or a new tensor."
    return function


def _float(expression: str) -> Operation:
    """Worked out in f32, whatever goes in."""
    return Operation({"float": expression}, "float")


def _number(expression: str, **others: str) -> Operation:
    """The same for all numbers, but for the kinds given."""
    return Operation({"float": expression, "int": expression, "uint": expression, **others})


def _integer(expression: str, **others: str) -> Operation:
    return Operation({"int": expression, "uint": expression, **others})


def _order(symbol: str) -> Operation:
    return Operation({"any": f"a_ {symbol} b_", "bool": f"u32(a_) {symbol} u32(b_)"}, "bool")


def _rounding(function: str) -> Operation:
    return _number("a_", float=f"{function}(a_)")


def _truth(expression: str) -> Operation:
    return Operation({"any": expression}, "bool")


# arithmetic
add = _binary("add", _number("a_ + b_", bool="a_ || b_"), "a + b; of bools, or")
subtract = _binary("subtract", _number("a_ - b_"), "a − b")
multiply = _binary("multiply", _number("a_ * b_", bool="a_ && b_"), "a · b; of bools, and")
divide = _binary("divide", _float("a_ / b_"), "a / b, always a float")
floor_divide = _binary(
    "floor_divide",
    _number("floor(a_ / b_)", int="floor_divide_i(a_, b_)", uint="divide_u(a_, b_)"),
    "Largest whole number not above a / b; of integers 0 where b is 0",
)
remainder = _binary(
    "remainder",
    _number("remainder_f(a_, b_)", int="remainder_i(a_, b_)", uint="remainder_u(a_, b_)"),
    "What is left of a by floor division, with the sign of b; of integers 0 where b is 0",
)
power = _binary(
    "power",
    _number("power_f(a_, b_)", int="power_i(a_, b_)", uint="power_u(a_, b_)"),
    "a to the power b; of integers 0 where b is negative, unless a is 1 or −1",
)
negative = _unary("negative", _number("-a_", uint="0u - a_"), "−a")
absolute = _unary("absolute", _number("abs(a_)", uint="a_", bool="a_"), "|a|")
sign = _unary("sign", _number("sign(a_)", float="sign_f(a_)", uint="min(a_, 1u)"), "−1, 0 or 1")
square = _unary("square", _number("a_ * a_"), "a²")
reciprocal = _unary("reciprocal", _float("1.0 / a_"), "1 / a, always a float")

# smaller and larger; NaN wins
_MINIMUM = _number("min(a_, b_)", float="minimum_f(a_, b_)", bool="a_ && b_")
_MAXIMUM = _number("max(a_, b_)", float="maximum_f(a_, b_)", bool="a_ || b_")
_CLIP = _number("min(max(a_, b_), c_)", float="minimum_f(maximum_f(a_, b_), c_)")
minimum = _binary("minimum", _MINIMUM, "The smaller of a and b; NaN if either is")
maximum = _binary("maximum", _MAXIMUM, "The larger of a and b; NaN if either is")
clip = _ternary("clip", _CLIP, "a held to b at least and c at most; c where b > c")

# rounding
floor = _unary("floor", _rounding("floor"), "Largest whole number not above a")
ceil = _unary("ceil", _rounding("ceil"), "Smallest whole number not below a")
round = _unary("round", _rounding("round"), "Nearest whole number, the even one of two")
trunc = _unary("trunc", _rounding("trunc"), "a without its fraction")

# comparison and logic; `not_equal` is written so that NaN differs from itself
equal = _binary("equal", _truth("a_ == b_"), "Whether a = b")
not_equal = _binary("not_equal", _truth("!(a_ == b_)"), "Whether a ≠ b")
less = _binary("less", _order("<"), "Whether a < b")
less_equal = _binary("less_equal", _order("<="), "Whether a ≤ b")
greater = _binary("greater", _order(">"), "Whether a > b")
greater_equal = _binary("greater_equal", _order(">="), "Whether a ≥ b")
logical_and = _binary("logical_and", _truth("bool(a_) && bool(b_)"), "Whether both are true (not 0)")
logical_or = _binary("logical_or", _truth("bool(a_) || bool(b_)"), "Whether either is true (not 0)")
logical_xor = _binary("logical_xor", _truth("bool(a_) != bool(b_)"), "Whether one alone is true (not 0)")
logical_not = _unary("logical_not", _truth("!bool(a_)"), "Whether a is 0")
bitwise_and = _binary("bitwise_and", _integer("a_ & b_", bool="a_ && b_"), "Bits set in both")
bitwise_or = _binary("bitwise_or", _integer("a_ | b_", bool="a_ || b_"), "Bits set in either")
bitwise_xor = _binary("bitwise_xor", _integer("a_ ^ b_", bool="a_ != b_"), "Bits set in one alone")
invert = _unary("invert", _integer("~a_", bool="!a_"), "Every bit turned")
isnan = _unary("isnan", Operation({"float": "is_nan(a_)", "any": "false"}, "bool"), "Whether a is NaN")
isinf = _unary("isinf", Operation({"float": "is_inf(a_)", "any": "false"}, "bool"), "Whether a is infinite")
where = _ternary(
    "where", Operation({"any": "select(c_, b_, bool(a_))"}, casts=(False, True, True)), "b where a is true, else c"
)

# roots, powers and logarithms
sqrt = _unary("sqrt", _float("sqrt(a_)"), "Square root")
rsqrt = _unary("rsqrt", _float("inverseSqrt(a_)"), "1 / √a")
exp = _unary("exp", _float("exp(a_)"), "e to the power a")
exp2 = _unary("exp2", _float("exp2(a_)"), "2 to the power a")
expm1 = _unary("expm1", _float("expm1_f(a_)"), "e to the power a, less 1")
log = _unary("log", _float("log(a_)"), "Natural logarithm")
log2 = _unary("log2", _float("log2(a_)"), "Logarithm to base 2")
log1p = _unary("log1p", _float("log1p_f(a_)"), "Natural logarithm of 1 + a")

# angles, in radians
sin = _unary("sin", _float("precise_sin(a_)"), "Sine")
cos = _unary("cos", _float("precise_cos(a_)"), "Cosine")
tan = _unary("tan", _float("precise_sin(a_) / precise_cos(a_)"), "Tangent")
arcsin = _unary("arcsin", _float("asin(a_)"), "Angle whose sine is a")
arccos = _unary("arccos", _float("acos(a_)"), "Angle whose cosine is a")
arctan = _unary("arctan", _float("atan(a_)"), "Angle whose tangent is a")
arctan2 = _binary("arctan2", _float("atan2(a_, b_)"), "Angle of the point (b, a) from the first axis")
sinh = _unary("sinh", _float("sinh_f(a_)"), "Hyperbolic sine")
cosh = _unary("cosh", _float("cosh_f(a_)"), "Hyperbolic cosine")
tanh = _unary("tanh", _float("tanh_f(a_)"), "Hyperbolic tangent")

# networks
erf = _unary("erf", _float("erf_f(a_)"), "Error function")
sigmoid = _unary("sigmoid", _float("1.0 / (1.0 + exp(-a_))"), "1 / (1 + e⁻ᵃ)")
relu = _unary("relu", _number("max(a_, 0)", float="maximum_f(a_, 0.0)", uint="a_"), "a, or 0 if that is more")
silu = _unary("silu", _float("a_ / (1.0 + exp(-a_))"), "a · sigmoid(a)")
gelu = _unary("gelu", _float("0.5 * a_ * (1.0 + erf_f(a_ * 0.70710678))"), "a · Φ(a), Φ the normal distribution")
