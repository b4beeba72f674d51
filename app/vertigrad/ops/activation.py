"""Activation functions that fold into the kernel before them: their names, parameters, and the WGSL that calls them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..errors import InputError

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


def expression(activation: Activation) -> str:
    """WGSL over `x` for an activation: None, a name of `PARAMETERS`, or a name with its parameters in a tuple.

    A kernel that uses it includes common/math.wgsl and common/activation.wgsl. Raises `InputError` for a name that is
    unknown, and for parameters of the wrong number or not finite.
    """
    return "x" if activation is None else _call(activation, _FUNCTIONS)


def slope(activation: Activation) -> str:
    """WGSL over `x` for the derivative of an activation by x; as `expression`, and includes common/slope.wgsl too."""
    return "1.0" if activation is None else _call(activation, {name: f"{name}_slope" for name in PARAMETERS})


def _call(activation: str | tuple[str | float, ...], functions: Mapping[str, str]) -> str:
    name, *given = (activation,) if isinstance(activation, str) else activation
    if name not in PARAMETERS:
        raise InputError(f"no activation {name!r}; there are {', '.join(sorted(PARAMETERS))}, and None")
    defaults = PARAMETERS[name]
    values = _numbers(name, given) if given else defaults
    if len(values) != len(defaults):
        raise InputError(f"activation {name} takes {len(defaults)} parameters, not {len(values)}")
    return f"{functions.get(name, name)}({', '.join(['x', *(repr(value) for value in values)])})"


def _numbers(name: str, given: Sequence[str | float]) -> tuple[float, ...]:
    try:
        values = tuple(float(value) for value in given)
    except (TypeError, ValueError):
        values = (math.nan,)
    if not all(abs(value) <= 3.4e38 for value in values):
        raise InputError(f"activation {name}: parameters {given} must be finite numbers")
    return values
