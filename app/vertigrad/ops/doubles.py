"""The elementwise operations that are right in f64, and their WGSL: all others raise `DtypeError`.

WGSL's own exp, log, sin and their like compile for f64 and give wrong numbers in silence. What is not exact by itself
is in shaders/common/double*.wgsl, by the names that are called here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import DtypeError
from ..tensor import DType, f64

_OWN = {  # by functions of this project
    **{name: f"double_{name}(a_)" for name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "sin", "cos", "tan")},
    **{name: f"double_{name}(a_)" for name in ("sinh", "cosh", "tanh", "erf", "sigmoid", "softplus", "gelu")},
    **{f"arc{name}": f"double_a{name}(a_)" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "gelu_tanh": "double_gelu_tanh(a_)",
    "power": "double_power(a_, b_)",
    "silu": "a_ * double_sigmoid(a_)",
    "swish": "a_ * double_sigmoid(a_ * b_)",
    "mish": "a_ * double_tanh(double_softplus(a_))",
    "elu": "double_elu(a_, b_)",
    "celu": "select(a_, b_ * double_expm1(a_ / b_), a_ < 0.0lf)",
    "selu": "c_ * double_elu(a_, b_)",
}
_EXACT = {  # by one operation, or by few that lose no digits
    **{"assign": "a_", "add": "a_ + b_", "subtract": "a_ - b_", "multiply": "a_ * b_", "divide": "a_ / b_"},
    **{"negative": "-a_", "absolute": "abs(a_)", "sign": "double_sign(a_)", "square": "a_ * a_"},
    **{"reciprocal": "1.0lf / a_", "fmod": "double_fmod(a_, b_)", "remainder": "double_remainder(a_, b_)"},
    **{"minimum": "double_minimum(a_, b_)", "maximum": "double_maximum(a_, b_)"},
    "clip": "double_minimum(double_maximum(a_, b_), c_)",
    **{name: f"{name}(a_)" for name in ("floor", "ceil", "round", "trunc", "sqrt")},
    "rsqrt": "1.0lf / sqrt(a_)",
    **{"equal": "a_ == b_", "not_equal": "!(a_ == b_)", "less": "a_ < b_", "less_equal": "a_ <= b_"},
    **{"greater": "a_ > b_", "greater_equal": "a_ >= b_", "where": "select(c_, b_, bool(a_))"},
    **{"logical_and": "bool(a_) && bool(b_)", "logical_or": "bool(a_) || bool(b_)"},
    **{"logical_xor": "bool(a_) != bool(b_)", "logical_not": "!bool(a_)"},
    **{"isnan": "double_is_nan(a_)", "isinf": "double_is_inf(a_)"},
    "isfinite": "!double_is_nan(a_) && !double_is_inf(a_)",
    "isposinf": "double_is_inf(a_) && a_ > 0.0lf",
    "isneginf": "double_is_inf(a_) && a_ < 0.0lf",
    "relu": "double_maximum(a_, 0.0lf)",
    "leaky_relu": "select(a_, a_ * b_, a_ < 0.0lf)",
    "thresholded_relu": "select(a_, 0.0lf, a_ <= b_)",
    "softsign": "a_ / (1.0lf + abs(a_))",
    "hard_sigmoid": "double_hard_sigmoid(a_, b_, c_)",
    "hard_swish": "a_ * double_hard_sigmoid(a_, 1.0lf / 6.0lf, 0.5lf)",
    "shrink": "select(select(0.0lf, a_ - b_, a_ > c_), a_ + b_, a_ < -c_)",
}

DOUBLES: dict[str, str] = _OWN | _EXACT  # WGSL over a_, b_, c_ by the name of the operation
_narrowing = [False]


@contextmanager
def narrowing() -> Iterator[None]:
    """Let f64 become f32 or f16 inside, as a cast asks for: elsewhere digits would be lost in silence."""
    before, _narrowing[0] = _narrowing[0], True
    try:
        yield
    finally:
        _narrowing[0] = before


def require_not_narrowed(name: str, source: DType, target: DType) -> None:
    """Raise `DtypeError` if f64 would become another float, outside of `narrowing`."""
    if source is f64 and target.kind == "float" and not _narrowing[0]:
        raise DtypeError(f"{name}: f64 would become {target}, for what is only calculated in f32")
