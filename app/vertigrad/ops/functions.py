"""Every elementwise operation: its name (NumPy's where it has one), its WGSL by kind of operand, and what it is.

Functions are true to about 1e-6 of the value (shaders/common/math.wgsl and precise.wgsl); subnormal numbers may count
as 0. With an expression for an operand (see `ops.fused`) each gives an expression.
"""

from __future__ import annotations

from .define import (
    Binary,
    Operand,
    Ternary,
    Unary,
    binary,
    floating,
    integer,
    number,
    order,
    rounding,
    ternary,
    truth,
    unary,
)
from .expression import Operation

# fmt: off
__all__ = [
    "Binary", "Operand", "Ternary", "Unary", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "bitwise_and", "bitwise_or", "bitwise_xor", "ceil", "clip", "cos", "cosh", "divide",
    "equal", "erf", "exp", "exp2", "expm1", "floor", "floor_divide", "fmod", "greater", "greater_equal", "invert",
    "isfinite", "isinf", "isnan", "isneginf", "isposinf", "left_shift", "less", "less_equal", "log", "log1p", "log2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative",
    "not_equal", "power", "reciprocal", "remainder", "right_shift", "round", "rsqrt", "sign", "sin", "sinh", "sqrt",
    "square", "subtract", "tan", "tanh", "trunc", "truncate_divide", "where",
]
# fmt: on

# arithmetic
add = binary("add", number("a_ + b_", bool="a_ || b_"), "a + b; of bools, or")
subtract = binary("subtract", number("a_ - b_"), "a − b")
multiply = binary("multiply", number("a_ * b_", bool="a_ && b_"), "a · b; of bools, and")
divide = binary("divide", floating("divide_f(a_, b_)"), "a / b, always a float, correctly rounded")
floor_divide = binary(
    "floor_divide",
    number("floor_divide_f(a_, b_)", int="floor_divide_i(a_, b_)", uint="divide_u(a_, b_)"),
    "Largest integer not above a / b, exact up to 2²⁴; of integers 0 where b is 0",
)
truncate_divide = binary(
    "truncate_divide",
    number("truncate_divide_f(a_, b_)", int="truncate_divide_i(a_, b_)", uint="divide_u(a_, b_)"),
    "a / b without its fraction, exact up to 2²⁴, as C and ONNX divide integers; of integers 0 where b is 0",
)
fmod = binary(
    "fmod",
    number("fmod_f(a_, b_)", int="fmod_i(a_, b_)", uint="remainder_u(a_, b_)"),
    "What is left of a by truncated division, exact, with the sign of a; of integers 0 where b is 0",
)
remainder = binary(
    "remainder",
    number("remainder_f(a_, b_)", int="remainder_i(a_, b_)", uint="remainder_u(a_, b_)"),
    "What is left of a by floor division, with the sign of b, as NumPy rounds it; of integers 0 where b is 0",
)
power = binary(
    "power",
    number("power(a_, b_)", int="power_i(a_, b_)", uint="power_u(a_, b_)"),
    "a to the power b; of integers 0 where b is negative, unless a is 1 or −1",
)
negative = unary("negative", number("-a_", uint="0u - a_"), "−a")
absolute = unary("absolute", number("abs(a_)", uint="a_", bool="a_"), "|a|")
sign = unary("sign", number("sign(a_)", float="sign_f(a_)", uint="min(a_, 1u)"), "−1, 0 or 1")
square = unary("square", number("a_ * a_"), "a²")
reciprocal = unary("reciprocal", floating("1.0 / a_"), "1 / a, always a float")

# smaller and larger; NaN wins
_MINIMUM = number("min(a_, b_)", float="minimum_f(a_, b_)", bool="a_ && b_")
_MAXIMUM = number("max(a_, b_)", float="maximum_f(a_, b_)", bool="a_ || b_")
_CLIP = number("min(max(a_, b_), c_)", float="minimum_f(maximum_f(a_, b_), c_)")
minimum = binary("minimum", _MINIMUM, "The smaller of a and b; NaN if either is")
maximum = binary("maximum", _MAXIMUM, "The larger of a and b; NaN if either is")
clip = ternary("clip", _CLIP, "a held to b at least and c at most; c where b > c")

# rounding
floor = unary("floor", rounding("floor"), "Largest integer not above a")
ceil = unary("ceil", rounding("ceil"), "Smallest integer not below a")
round = unary("round", rounding("round"), "Nearest integer, the even one of two")
trunc = unary("trunc", rounding("trunc"), "a without its fraction")

# comparison and logic; `not_equal` is written so that NaN differs from itself
equal = binary("equal", truth("a_ == b_"), "Whether a = b")
not_equal = binary("not_equal", truth("!(a_ == b_)"), "Whether a ≠ b")
less = binary("less", order("<"), "Whether a < b")
less_equal = binary("less_equal", order("<="), "Whether a ≤ b")
greater = binary("greater", order(">"), "Whether a > b")
greater_equal = binary("greater_equal", order(">="), "Whether a ≥ b")
logical_and = binary("logical_and", truth("bool(a_) && bool(b_)"), "Whether both are true (not 0)")
logical_or = binary("logical_or", truth("bool(a_) || bool(b_)"), "Whether either is true (not 0)")
logical_xor = binary("logical_xor", truth("bool(a_) != bool(b_)"), "Whether exactly one is true (not 0)")
logical_not = unary("logical_not", truth("!bool(a_)"), "Whether a is 0")
bitwise_and = binary("bitwise_and", integer("a_ & b_", bool="a_ && b_"), "Bits set in both")
bitwise_or = binary("bitwise_or", integer("a_ | b_", bool="a_ || b_"), "Bits set in either")
bitwise_xor = binary("bitwise_xor", integer("a_ ^ b_", bool="a_ != b_"), "Bits set in exactly one")
left_shift = binary(
    "left_shift",
    integer("select(a_ << (u32(b_) & 31u), a_ & 0, u32(b_) > 31u)", uint="select(a_ << (b_ & 31u), 0u, b_ > 31u)"),
    "a · 2ᵇ; 0 where b is more than 31",
)
right_shift = binary(
    "right_shift",
    integer("a_ >> min(u32(b_), 31u)", uint="select(a_ >> (b_ & 31u), 0u, b_ > 31u)"),
    "a / 2ᵇ, rounded down",
)
invert = unary("invert", integer("~a_", bool="!a_"), "Every bit inverted")
isnan = unary("isnan", Operation({"float": "is_nan(a_)", "any": "false"}, "bool"), "Whether a is NaN")
isinf = unary("isinf", Operation({"float": "is_inf(a_)", "any": "false"}, "bool"), "Whether a is infinite")
isfinite = unary(
    "isfinite", Operation({"float": "!is_nan(a_) && !is_inf(a_)", "any": "true"}, "bool"), "Whether a is finite"
)
isposinf = unary("isposinf", Operation({"float": "is_inf(a_) && a_ > 0.0", "any": "false"}, "bool"), "Whether a is +∞")
isneginf = unary("isneginf", Operation({"float": "is_inf(a_) && a_ < 0.0", "any": "false"}, "bool"), "Whether a is −∞")
where = ternary(
    "where", Operation({"any": "select(c_, b_, bool(a_))"}, casts=(False, True, True)), "b where a is true, else c"
)

# roots, powers and logarithms
sqrt = unary("sqrt", floating("sqrt(a_)"), "Square root")
rsqrt = unary("rsqrt", floating("inverseSqrt(a_)"), "1 / √a")
exp = unary("exp", floating("precise_exp(a_)"), "e to the power a")
exp2 = unary("exp2", floating("precise_exp2(a_)"), "2 to the power a")
expm1 = unary("expm1", floating("precise_expm1(a_)"), "e to the power a, less 1")
log = unary("log", floating("precise_log(a_)"), "Natural logarithm")
log2 = unary("log2", floating("precise_log2(a_)"), "Logarithm to base 2")
log1p = unary("log1p", floating("precise_log1p(a_)"), "Natural logarithm of 1 + a")

# angles, in radians
sin = unary("sin", floating("precise_sin(a_)"), "Sine")
cos = unary("cos", floating("precise_cos(a_)"), "Cosine")
tan = unary("tan", floating("precise_sin(a_) / precise_cos(a_)"), "Tangent")
arcsin = unary("arcsin", floating("precise_asin(a_)"), "Angle whose sine is a")
arccos = unary("arccos", floating("precise_acos(a_)"), "Angle whose cosine is a")
arctan = unary("arctan", floating("precise_atan(a_)"), "Angle whose tangent is a")
arctan2 = binary("arctan2", floating("precise_atan2(a_, b_)"), "Angle of the point (b, a) from the first axis")
sinh = unary("sinh", floating("precise_sinh(a_)"), "Hyperbolic sine")
cosh = unary("cosh", floating("precise_cosh(a_)"), "Hyperbolic cosine")
tanh = unary("tanh", floating("tanh_(a_)"), "Hyperbolic tangent")
arcsinh = unary("arcsinh", floating("precise_asinh(a_)"), "Number whose hyperbolic sine is a")
arccosh = unary("arccosh", floating("precise_acosh(a_)"), "Number, not negative, whose hyperbolic cosine is a")
arctanh = unary("arctanh", floating("precise_atanh(a_)"), "Number whose hyperbolic tangent is a")
erf = unary("erf", floating("precise_erf(a_)"), "Error function")
