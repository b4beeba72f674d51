"""Arithmetic, functions of one variable, comparison, choice."""

from __future__ import annotations

import numpy as np

from ..networks import reals
from .case import BOOL, FLOAT, HALF, INT8, INT32, UINT8, Case, case

X, Y = reals(3, 4), reals(3, 4, seed=1)
INSIDE = np.linspace(0.05, 0.95, 12, dtype=np.float32).reshape(3, 4)
WHOLE, OTHER = np.array([[7, -7, 5], [-5, 6, 1]], np.int32), np.array([[3, 3, -3], [-3, 2, 1]], np.int32)
BITS, MORE = WHOLE.astype(np.uint8), OTHER.astype(np.uint8)
TRUE, ALSO = X > 0, Y > 0
SPECIAL = np.array([np.inf, -np.inf, np.nan, 1.0, -3.4e38], np.float32)

_ONE = ("Sqrt", "Exp", "Log", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Atanh",
        "Erf", "Sigmoid", "Softplus", "Softsign", "Mish", "HardSwish", "Reciprocal", "Floor", "Ceil", "Round", "Neg",
        "Abs", "Sign", "Relu")  # fmt: skip

CASES: list[Case] = [
    *(case(op, INSIDE * 3 if op in ("HardSwish", "Floor", "Ceil", "Round") else INSIDE) for op in _ONE),
    case("Acosh", INSIDE + 1.5),
    *(case(op, -X) for op in ("Floor", "Ceil", "Neg", "Abs", "Sign", "Relu", "Exp", "Atan", "Softplus", "HardSwish")),
    *(case(op, WHOLE, versions=(13, 28)) for op in ("Neg", "Abs", "Sign")),
    *(case(op, X, Y) for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean")),
    *(case(op, X, Y[0], reals(3, 1, seed=2), versions=(8, 28)) for op in ("Min", "Max", "Sum", "Mean")),
    *(case(op, X, Y[0]) for op in ("Add", "Sub", "Mul", "Div")),
    *(case(op, WHOLE, OTHER) for op in ("Add", "Sub", "Mul", "Div")),
    *(case(op, BITS, MORE, versions=(14, 28)) for op in ("Add", "Sub", "Mul", "Div")),
    case("Pow", INSIDE, X),
    case("Pow", WHOLE, np.abs(OTHER), versions=(13, 28)),
    case("Mod", WHOLE, OTHER),
    case("Mod", WHOLE, OTHER, fmod=1),
    case("Mod", X * 5, Y, fmod=1),
    case("PRelu", X, Y[:1, 0]),
    case("Clip", X, min=-0.5, max=0.4),
    case("Clip", X, np.float32(-0.5), np.float32(0.4)),
    case("Clip", X, None, np.float32(0.4)),
    case("Clip", X, np.float32(-0.5)),
    case("LeakyRelu", X),
    case("LeakyRelu", X, alpha=0.3),
    case("ThresholdedRelu", X * 2),
    case("ThresholdedRelu", X, alpha=0.3),
    case("Elu", X),
    case("Elu", X, alpha=0.3),
    case("Celu", X),
    case("Celu", X, alpha=0.3),
    case("Selu", X),
    case("Selu", X, alpha=0.3),
    case("Selu", X, gamma=0.3),
    case("Gelu", X),
    case("Gelu", X, approximate="tanh", rtol=1e-6),
    case("Swish", X),
    case("Swish", X, alpha=0.3),
    case("HardSigmoid", X * 3),
    case("HardSigmoid", X, alpha=0.3),
    case("HardSigmoid", X, beta=0.3),
    case("Shrink", np.linspace(-1, 1, 21, dtype=np.float32)),
    case("Shrink", X, lambd=0.2),
    case("Shrink", X, bias=0.3),
    case("Shrink", WHOLE, lambd=5.5, bias=2.5),
    case("Shrink", np.linspace(-1, 1, 21).astype(np.float16), lambd=0.3, bias=0.1),
    *(case(op, BITS, MORE) for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    case("BitwiseNot", BITS),
    case("BitShift", BITS, MORE % 8, direction="LEFT"),
    case("BitShift", BITS, MORE % 8, direction="RIGHT"),
    case("BitCast", X, to=INT32, versions=(26, 28), reference="onnx"),
    case("BitCast", BITS, to=INT8, versions=(26, 28), reference="onnx"),
    case("BitCast", X.astype(np.float16), to=16, versions=(26, 28), refused="the bits of float16"),
    case("Cast", X * 9, to=INT32),
    case("Cast", X, to=HALF),
    case("Cast", X * 9, to=INT8),
    case("Cast", np.abs(X) * 9, to=UINT8),
    case("Cast", np.round(X), to=BOOL),
    case("Cast", WHOLE, to=FLOAT),
    case("Cast", X, to=HALF, saturate=0),
    case("Cast", X, to=HALF, round_mode="up"),
    case("CastLike", X * 9, OTHER),
    case("CastLike", X, Y.astype(np.float16)),
    case("CastLike", X, Y.astype(np.float16), saturate=0),
    case("CastLike", X, Y.astype(np.float16), round_mode="down"),
    case("Dropout", X, outputs=(0, 1), versions=(12, 28)),
    case("Dropout", X, outputs=(0, 1), versions=(10, 11), reference="onnx"),  # onnxruntime drops all elements
    case("Dropout", X, outputs=(0, 1), versions=(7, 9), refused="mask"),
    case("Dropout", X, ratio=0.75),
    case("Dropout", X, np.float32(0.75)),
    case("Dropout", X, np.float32(0.75), np.array(False)),
    case("Dropout", X, None, np.array(False), seed=4),
    case("Dropout", X, np.float32(0.75), np.array(True), refused="training"),
    case("Identity", X),
    *(case(op, X, X.copy()) for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")),
    *(case(op, WHOLE, OTHER) for op in ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")),
    *(case(op, TRUE, ALSO) for op in ("And", "Or", "Xor", "Equal")),
    case("Not", TRUE),
    case("IsNaN", SPECIAL),
    case("IsInf", SPECIAL),
    case("IsInf", SPECIAL, detect_negative=0),
    case("IsInf", SPECIAL, detect_positive=0),
    case("IsInf", SPECIAL, detect_positive=0, detect_negative=0),
    case("Where", TRUE, X, Y[:1]),
]

# Attributes that change no number, with the reason.
WITHOUT_EFFECT = {
    ("Cast", "saturate"): "about floats of 8 bits alone",
    ("Cast", "round_mode"): "about float8e8m0 alone",
    ("CastLike", "saturate"): "about floats of 8 bits alone",
    ("CastLike", "round_mode"): "about float8e8m0 alone",
    ("Dropout", "ratio"): "training alone",
    ("Dropout", "seed"): "training alone",
    ("Dropout", 1): "training alone",
}
