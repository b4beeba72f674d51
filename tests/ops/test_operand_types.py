"""Operands of other types than the result: converted as they are read, or refused; never taken for another type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError
from vertigrad.gpu import Gpu

from .layouts import DTYPES, values

Shapes = list[tuple[int, ...]]
CALLS: dict[str, tuple[Callable[..., Any], Shapes]] = {
    "attention": (ops.attention, [(1, 2, 5, 8), (1, 2, 7, 8), (1, 2, 7, 8)]),
    "narrow attention": (ops.attention, [(1, 2, 5, 7), (1, 1, 9, 7), (1, 1, 9, 3)]),
    "conv": (ops.conv, [(2, 3, 5, 6), (7, 3, 3, 3), (7,)]),
    "conv_transpose": (ops.conv_transpose, [(2, 3, 5, 6), (3, 7, 3, 3), (7,)]),
    "linear": (ops.linear, [(5, 6), (7, 6), (7,)]),
    "matmul": (ops.matmul, [(1, 64), (64, 70)]),
    "layer_norm": (ops.layer_norm, [(5, 16), (16,), (16,)]),
    "long layer_norm": (ops.layer_norm, [(2, 5000), (5000,), (5000,)]),
    "rms_norm": (ops.rms_norm, [(5, 16), (16,)]),
    "group_norm": (lambda x, scale, bias: ops.group_norm(x, 2, scale, bias), [(2, 4, 5), (4,), (4,)]),
    "instance_norm": (ops.instance_norm, [(2, 3, 5, 6), (3,), (3,)]),
    "batch_norm": (
        lambda x, a, b, c: ops.batch_norm(x, a, b, c, np.ones(3, np.float32)),
        [(2, 3, 4), (3,), (3,), (3,)],
    ),
    "softmax": (ops.softmax, [(5, 16)]),
    "log_sum_exp": (ops.log_sum_exp, [(5, 6)]),
    "grid_sample": (ops.grid_sample, [(2, 3, 5, 6), (2, 4, 4, 2)]),
    "gru": (lambda x, w, r, b: ops.gru(x, w, r, b)[0], [(3, 2, 4), (1, 15, 4), (1, 15, 5), (1, 30)]),
}


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("name", "at"), [(name, at) for name, (_, shapes) in CALLS.items() for at in range(len(shapes))]
)
def test_an_operand_of_another_type(name: str, at: int, gpu: Gpu) -> None:
    """The result is that of the same values in f32, or there is a `DtypeError`."""
    call, shapes = CALLS[name]
    for dtype in DTYPES:
        if dtype == "f16" and "shader-f16" not in gpu.features:
            continue
        arrays = [values(shape, "f32", number) for number, shape in enumerate(shapes)]
        other = values(shapes[at], dtype, at)
        try:
            got = call(*map(Tensor.from_numpy, [*arrays[:at], other, *arrays[at + 1 :]])).numpy()
        except DtypeError:
            assert dtype != "f32"
            continue
        arrays[at] = other.astype(np.float32)
        want = call(*map(Tensor.from_numpy, arrays)).numpy()
        tolerance = 1e-2 if got.dtype == np.float16 else 1e-5
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max(), err_msg=dtype)
