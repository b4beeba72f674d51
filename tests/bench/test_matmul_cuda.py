"""Products of f32 matrices against cuBLAS on the same GPU, in one run, TF32 off.

Floors on an H100 (132 multiprocessors of 128 lanes, 1.98 GHz, 3.0 TB/s measured by a device copy): 4096³ takes 2.05 ms
of fused multiply-adds, 1024³ 32 µs; 2²⁰ x 64 x 64 moves 537 MB, 179 µs; 1 x 4096 x 4096 67 MB, 22 µs.
"""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, ops

from .cuda import our_milliseconds, torch_milliseconds, torch_on_the_same_gpu


@pytest.mark.bench
@pytest.mark.parametrize(
    ("rows", "inner", "columns", "transposed", "least"),
    [
        (4096, 4096, 4096, False, 0.95),
        (1024, 1024, 1024, False, 0.8),
        (1 << 20, 64, 64, False, 0.8),
        (1 << 20, 64, 64, True, 0.8),
        (1, 4096, 4096, False, 0.8),
        (1, 4096, 4096, True, 0.8),
    ],
)
def test_matmul_is_nearly_as_fast_as_cublas(
    rows: int, inner: int, columns: int, transposed: bool, least: float
) -> None:
    torch = torch_on_the_same_gpu()
    random = np.random.default_rng(1)
    a = random.normal(size=(rows, inner)).astype(np.float32)
    b = random.normal(size=(columns, inner) if transposed else (inner, columns)).astype(np.float32)
    x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    right = y.T if transposed else y
    theirs = torch_milliseconds(torch, lambda: torch.matmul(x, right))
    pick = np.unique(np.linspace(0, rows - 1, 64).astype(int))
    wanted = (x[pick].double() @ right.double()).cpu().numpy()
    magnitude = (x[pick].double().abs() @ right.double().abs()).cpu().numpy()
    with Tensor.from_numpy(a) as left, Tensor.from_numpy(b) as stored, Tensor.empty((rows, columns)) as out:
        mine = our_milliseconds(lambda: ops.matmul(left, stored.T if transposed else stored, out=out))
        got = np.stack([out[int(row)].numpy() for row in pick])
    flops = 2e-9 * rows * inner * columns
    print(
        f"\n{rows} x {inner} x {columns}{' transposed' * transposed}: cuBLAS {theirs:.4f} ms, {flops / theirs:.1f} "
        f"TFLOP/s; ours {mine:.4f} ms, {flops / mine:.1f} TFLOP/s, {theirs / mine:.2f}x"
    )
    assert np.all(np.abs(got - wanted) <= inner * 2.0**-23 * magnitude)
    assert theirs / mine >= least
