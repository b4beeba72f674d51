"""Activation functions that fold into the kernel before them: their names, parameters, and the WGSL that calls them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..errors import InputError
from .doubles import DOUBLES

Activation: TypeAlias = str | tuple[str | float, ...] | None

# The functions of shaders/common/activation.wgsl, each with its parameters' defaults, which are those of ONNX.
PARAMETERS: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("relu", "sigmoid", "silu", "gelu", "gelu_tanh", "softplus", "softsign", "mish"), ()),
    **dict.fromkeys(("hard_swish", "tanh", "sine", "cosine"), ()),
    "leaky_relu": (0.01,),
    "thresholded_relu": (1.0,),
    "elu": (1.0,),
    "celu": (1.0,),
    "selu": (1.67326319217681884765625, 1.05070102214813232421875),
    "hard_sigmoid": (0.2, 0.5),
    "clip": (0.0, 6.0),
}
_FUNCTIONS = {"tanh": "tanh_", "clip": "held"}  # where WGSL has the name already


_OPERATIONS = {"sine": "sin", "cosine": "cos"}  # where the operation of `ops` has another name


def expression(activation: Activation, field: str = "params.activation") -> str:
    """WGSL over `x` for an activation: None, a name of `PARAMETERS`, or a name with its parameters in a tuple.

    Parameters are read from the uniform `field`, a vec2f that gets `parameters`, so that one kernel serves all of them.
    A kernel that uses it includes common/math.wgsl and common/activation.wgsl. Raises `InputError` for a name that is
    unknown, and for parameters of the wrong number or not finite.
    """
    return "x" if activation is None else _call(activation, field, _FUNCTIONS)


def expression_of_doubles(activation: Activation, field: str) -> str:
    """As `expression`, over an f64 x and a vec2<f64>; a kernel that uses it includes common/double*.wgsl."""
    if activation is None:
        return "x"
    operands = {"a_": "x", "b_": f"{field}.x", "c_": f"{field}.y"}
    return re.sub(r"\b[abc]_(?!\w)", lambda match: operands[match[0]], DOUBLES[operation(activation)[0]])


def derivative(activation: Activation, field: str = "params.activation") -> str:
    """WGSL over `x` for the derivative of an activation; as `expression`, and includes common/derivative.wgsl."""
    return (
        "1.0" if activation is None else _call(activation, field, {name: f"{name}_derivative" for name in PARAMETERS})
    )


def parameters(activation: Activation) -> tuple[float, float]:
    """What the field of `expression` holds, 0 where the activation has fewer parameters."""
    first, second, *_ = (*([] if activation is None else _split(activation)[1]), 0.0, 0.0)
    return first, second


def operation(activation: str | tuple[str | float, ...]) -> tuple[str, tuple[float, ...]]:
    """The elementwise operation that an activation is, and its operands after the first. Raises as `expression`."""
    name, values = _split(activation)
    return _OPERATIONS.get(name, name), values


def _call(activation: str | tuple[str | float, ...], field: str, functions: Mapping[str, str]) -> str:
    name, values = _split(activation)
    fields = [f"{field}.{axis}" for axis, _ in zip("xy", values, strict=False)]
    return f"{functions.get(name, name)}({', '.join(['x', *fields])})"


def _split(activation: str | tuple[str | float, ...]) -> tuple[str, tuple[float, ...]]:
    name, *values = (activation,) if isinstance(activation, str) else activation
    if name not in PARAMETERS:
        raise InputError(f"no activation {name!r}; there are {', '.join(sorted(PARAMETERS))}, and None")
    defaults = PARAMETERS[name]
    values = _literals(name, values) if values else defaults
    if len(values) != len(defaults):
        raise InputError(f"activation {name} takes {len(defaults)} parameters, not {len(values)}")
    return name, values


def _literals(name: str, values: Sequence[str | float]) -> tuple[float, ...]:
    try:
        values = tuple(float(value) for value in values)
    except (TypeError, ValueError):
        values = (math.nan,)
    if not all(abs(value) <= 3.4e38 for value in values):
        raise InputError(f"activation {name}: parameters {values} must be finite numbers")
    return values
