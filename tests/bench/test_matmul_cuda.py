"""Products of f32 matrices against cuBLAS on the same GPU, in one run; cuBLAS with TF32 and in f16 is shown too.

Floors on an H200 (132 multiprocessors of 128 lanes, 1.98 GHz, 4.3 TB/s measured by a device copy): 4096³ takes 2.05 ms
of fused multiply-adds, 1024³ 32 µs; 2²⁰ x 64 x 64 moves 537 MB, 125 µs; 1 x 4096 x 4096 67 MB, 16 µs.
"""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor, ops

from .accuracy import assert_f32_product
from .cuda import our_milliseconds, precision, torch_milliseconds, torch_on_the_same_gpu
from .results import Result, report


@pytest.mark.bench
@pytest.mark.parametrize(
    ("rows", "inner", "columns", "transposed", "least"),
    [
        (4096, 4096, 4096, False, 0.9),
        (1024, 1024, 1024, False, 0.85),
        (1 << 20, 64, 64, False, 0.97),
        (1 << 20, 64, 64, True, 0.97),
        (1, 4096, 4096, False, 0.8),
        (1, 4096, 4096, True, 0.9),
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
    x_half, right_half = x.half(), right.half()
    peers = {"cuBLAS f32": torch_milliseconds(torch, lambda: torch.matmul(x, right))}
    with precision(torch, "TF32"):
        peers["cuBLAS TF32"] = torch_milliseconds(torch, lambda: torch.matmul(x, right))
    peers["cuBLAS f16"] = torch_milliseconds(torch, lambda: torch.matmul(x_half, right_half))
    pick = np.unique(np.linspace(0, rows - 1, 64).astype(int))
    exact = (x[pick].double() @ right.double()).cpu().numpy()
    magnitude = (x[pick].double().abs() @ right.double().abs()).cpu().numpy()
    assert_f32_product(torch.matmul(x, right)[pick].cpu().numpy(), exact, magnitude)
    with Tensor.from_numpy(a) as left, Tensor.from_numpy(b) as stored, Tensor.empty((rows, columns)) as out:
        mine = our_milliseconds(lambda: ops.matmul(left, stored.T if transposed else stored, out=out))
        found = np.stack([out[int(row)].numpy() for row in pick])
    assert_f32_product(found, exact, magnitude)
    work = f"{rows} x {inner} x {columns}{' transposed' * transposed}"
    report(Result("matrix product, f32", work, "ms", mine, peers, "cuBLAS f32", least))
