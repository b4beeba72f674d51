"""Reductions, cumulative sums, products of matrices, quantization."""

from __future__ import annotations

import numpy as np

from ..networks import reals
from .case import FLOAT, HALF, INT8, Case, case
from .shapes import ints

X = reals(2, 3, 4)
POSITIVE = np.abs(X) + 0.5
_SUMS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceLogSum",
         "ReduceLogSumExp", "ReduceSumSquare")  # fmt: skip
_ARGS = np.array([[1, 3, 3], [2, 0, 0]], np.float32)
A8, B8 = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20, np.arange(8, dtype=np.uint8).reshape(4, 2) * 30
_SCALE, _ZERO = np.array([0.1, 0.2, 0.3], np.float32), np.array([1, 2, 3], np.uint8)
_BLOCKS = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
_PER_TENSOR = (np.float32(0.1), np.uint8(7))


def _reductions(op: str) -> list[Case]:
    return [
        case(op, POSITIVE),
        case(op, POSITIVE, keepdims=0),
        case(op, POSITIVE, axes=[0, 2]),
        case(op, POSITIVE, ints(0, -1)),
        case(op, POSITIVE, ints(0, -1), keepdims=0),
        case(op, POSITIVE, noop_with_empty_axes=1),
        case(op, POSITIVE, noop_with_empty_axes=1, keepdims=0),
        case(op, X - 0.25, ints(1)) if op != "ReduceLogSum" else case(op, POSITIVE, ints(1)),
    ]


CASES: list[Case] = [
    *(each for op in _SUMS for each in _reductions(op)),
    *(case(op, (X * 9).astype(np.int32), ints(1)) for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1")),
    case("ReduceMax", X > 0, ints(1)),
    case("ReduceMin", X > 0, ints(1)),
    *(case(op, _ARGS) for op in ("ArgMax", "ArgMin")),
    *(case(op, _ARGS, axis=1) for op in ("ArgMax", "ArgMin")),
    *(case(op, _ARGS, keepdims=0) for op in ("ArgMax", "ArgMin")),
    *(case(op, _ARGS, axis=1, select_last_index=1) for op in ("ArgMax", "ArgMin")),
    *(case(op, X, np.array(1)) for op in ("CumSum", "CumProd")),
    *(case(op, X, np.array(1), exclusive=1) for op in ("CumSum", "CumProd")),
    *(case(op, X, np.array(-1), reverse=1) for op in ("CumSum", "CumProd")),
    *(case(op, X, np.array(1), exclusive=1, reverse=1) for op in ("CumSum", "CumProd")),
    case("MeanVarianceNormalization", reals(2, 3, 4, 5)),
    case("MeanVarianceNormalization", reals(2, 3, 4, 5), axes=[1, 3]),
    # products
    case("MatMul", X, reals(4, 5)),
    case("MatMul", X, reals(2, 4, 5)),
    case("MatMul", reals(4), reals(4, 5)),
    case("Gemm", reals(3, 4), reals(4, 5), reals(5)),
    case("Gemm", reals(3, 4), reals(4, 5)),
    case("Gemm", reals(3, 4), reals(4, 5), reals(3, 1)),
    case("Gemm", reals(4, 3), reals(4, 5), reals(5), transA=1),
    case("Gemm", reals(3, 4), reals(5, 4), reals(5), transB=1),
    case("Gemm", reals(4, 4), reals(4, 4, seed=1), reals(4), transA=1, transB=1),
    case("Gemm", reals(3, 4), reals(4, 5), reals(5), alpha=0.3),
    case("Gemm", reals(3, 4), reals(4, 5), reals(5), beta=0.3),
    case("Einsum", X, reals(4, 5), equation="abc,cd->adb"),
    case("Einsum", X, equation="abc->ca"),
    case("MatMulInteger", A8, B8),
    case("MatMulInteger", A8, B8, np.array([7, 200, 0], np.uint8)[:1]),
    case("MatMulInteger", A8, B8, np.uint8(7), np.array([3, 5], np.uint8)),
    case("MatMulInteger", A8, B8.astype(np.int8), np.uint8(7), np.int8(-3)),
    case("MatMulInteger", A8, B8, None, np.array([3, 5], np.uint8)),
    # quantization
    case("QuantizeLinear", reals(3, 4) * 9, *_PER_TENSOR),
    case("QuantizeLinear", np.abs(reals(3, 4)) * 9, np.float32(0.1)),
    case("QuantizeLinear", reals(4, 3) * 9, _SCALE, _ZERO),
    case("QuantizeLinear", reals(3, 4) * 9, _SCALE, _ZERO, axis=0),
    case("QuantizeLinear", reals(2, 4) * 9, _BLOCKS, axis=1, block_size=2, versions=(21, 26)),
    case("QuantizeLinear", reals(3, 4) * 9, np.float32(0.1), output_dtype=INT8),
    case("QuantizeLinear", reals(3, 4) * 9, *_PER_TENSOR, saturate=0),
    case("QuantizeLinear", reals(3, 4) * 9, *_PER_TENSOR, precision=FLOAT),
    case("QuantizeLinear", reals(3, 4) * 9, *_PER_TENSOR, precision=HALF, refused="precision"),
    case("DequantizeLinear", A8, *_PER_TENSOR),
    case("DequantizeLinear", A8, np.float32(0.1)),
    case("DequantizeLinear", A8.T.copy(), _SCALE, _ZERO),
    case("DequantizeLinear", A8, _SCALE, _ZERO, axis=0),
    case("DequantizeLinear", A8[:2], _BLOCKS, axis=1, block_size=2),
    case("DequantizeLinear", A8, *_PER_TENSOR, output_dtype=HALF, rtol=1e-3),
    case("DynamicQuantizeLinear", reals(3, 4), outputs=(0, 1, 2)),
    case("QLinearMatMul", A8, *_PER_TENSOR, B8, np.float32(0.2), np.uint8(9), np.float32(11.0), np.uint8(100)),
]

WITHOUT_EFFECT = {
    ("QuantizeLinear", "saturate"): "about floats of 8 bits alone",
    ("QuantizeLinear", "precision"): "float32 is what is calculated in anyway",
}
