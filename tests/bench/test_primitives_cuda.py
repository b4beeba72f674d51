"""Parallel primitives against CUDA libraries on the same GPU, in one run: sorts of CUB and PyTorch, and plain copies.

Floors on an H200: a sort of 2²⁴ pairs of 32 bits goes four times over them, reading and writing 16 bytes a pair, and
reads the keys once more each time to count digits: 1.34 GB, 0.31 ms at 4.3 TB/s. A scan moves 8 bytes an element, as a
copy does; a sum reads 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from vertigrad import Tensor, ops

from .cub import CubSort
from .cuda import copy_bandwidth, our_milliseconds, torch_milliseconds, torch_on_the_same_gpu
from .results import Result, report

LENGTH = 1 << 27
PAIRS = 1 << 24
COPIES = 4  # of an operation in one submission, as PyTorch's calls follow each other in a stream


@contextmanager
def uploaded(*arrays: np.ndarray) -> Iterator[list[Tensor]]:
    tensors = [Tensor.from_numpy(array) for array in arrays]
    yield tensors
    for tensor in tensors:
        tensor.close()


@pytest.mark.bench
def test_sorting_pairs_is_nearly_as_fast_as_cub(tmp_path: Path) -> None:
    torch = torch_on_the_same_gpu()
    host = np.random.default_rng(1).integers(-(2**31), 2**31, PAIRS, dtype=np.int64).astype(np.int32)
    keys = torch.tensor(host, device="cuda")
    cub = CubSort(torch, keys, tmp_path)
    peers = {"CUB SortPairs": torch_milliseconds(torch, cub.run)}
    peers["torch.sort, 64-bit indices"] = torch_milliseconds(torch, lambda: torch.sort(keys, stable=True))
    expected = np.argsort(host, kind="stable")
    assert np.array_equal(cub.indices.cpu().numpy(), expected)
    with uploaded(host, np.empty_like(host), np.empty_like(host)) as (unsorted, ordered, indices):
        mine = our_milliseconds(lambda: ops.sort_pairs(unsorted, out=(ordered, indices)), COPIES)
        assert np.array_equal(indices.numpy(), expected)
        assert np.array_equal(ordered.numpy(), host[expected])
    report(Result("sort", "2²⁴ pairs of int32 by key", "ms", mine, peers, "CUB SortPairs", 0.6))


@pytest.mark.bench
def test_scan_and_sum_run_near_the_speed_of_a_copy() -> None:
    """Of values −1, 0 and 1, whose sums are exact in f32: a lost tile, or a wrong last bit, is detected."""
    torch = torch_on_the_same_gpu()
    host = np.random.default_rng(2).integers(-1, 2, LENGTH).astype(np.float32)
    x = torch.tensor(host, device="cuda")
    y = torch.empty_like(x)
    theirs = {
        "torch copy": 8 / torch_milliseconds(torch, lambda: y.copy_(x)),
        "torch cumsum": 8 / torch_milliseconds(torch, lambda: torch.cumsum(x, 0, out=y)),
        "torch sum": 4 / torch_milliseconds(torch, lambda: torch.sum(x)),
    }
    mine = {}
    with uploaded(host) as (source,), Tensor.empty(LENGTH) as out, Tensor.empty(()) as total:
        mine["cumsum"] = 8 / our_milliseconds(lambda: ops.cumsum(source, out=out), COPIES)
        assert np.array_equal(out.numpy(), np.cumsum(host, dtype=np.float64))
        mine["sum"] = 4 / our_milliseconds(lambda: ops.sum(source, out=total), COPIES)
        assert total.item() == host.sum(dtype=np.float64)
    rate = LENGTH * 1e-6  # elements a millisecond in GB/s for each byte
    copy = max(theirs["torch copy"] * rate, copy_bandwidth(LENGTH))
    for name, least in (("sum", 0.85), ("cumsum", 0.75)):
        peers = {"copy": copy, f"torch {name}": theirs[f"torch {name}"] * rate}
        report(Result("bandwidth", f"{name} of 2²⁷ f32", "GB/s", mine[name] * rate, peers, "copy", least))
