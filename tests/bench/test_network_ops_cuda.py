"""Convolution, attention and memory-bound operations against PyTorch on the same GPU, in one run.

Floors on an H200 (4 × 32 lanes of 132 multiprocessors at 1.98 GHz): 4.8 GFLOP of a 3×3 convolution of 64 channels at
256² take 0.072 ms, 34 GFLOP of attention over 8 heads of 4096 × 64 take 0.51 ms; 256 MiB read and 256 MiB written at
4.3 TB/s take 0.12 ms. PyTorch runs eager, compiled and from CUDA graphs; its fastest in f32 is the peer. TF32 is
shown. For attention in f32 PyTorch takes CUTLASS's kernel for tensor cores (fmha_cutlassF_f32_*_sm80).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops

from .accuracy import assert_close_in_norm
from .cuda import our_milliseconds, torch_on_the_same_gpu, torch_variants
from .results import Result, report

pytestmark = pytest.mark.bench

COPIES = (
    4  # of an operation in one submission, which takes 10 µs by itself; PyTorch's calls follow each other in a stream
)


@pytest.fixture
def torch() -> Any:
    """PyTorch, on the GPU that is measured."""
    return torch_on_the_same_gpu()


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=shape) / 4).astype(np.float32)


def compare(
    torch: Any, work: str, ours: Callable[[], Tensor], theirs: Callable[..., Any], inputs: list[Any], least: float
) -> None:
    """Check our result, and report its time against `theirs`, a function of the arrays `inputs`, at its best."""
    exact = theirs(*[each.double() for each in inputs]).cpu().numpy()
    assert_close_in_norm(ours().numpy(), exact, 2e-6)
    peers = {f"torch {name}": min(torch_variants(torch, name, theirs, *inputs).values()) for name in ("f32", "TF32")}
    report(Result("operation, f32", work, "ms", our_milliseconds(ours, copies=COPIES), peers, "torch f32", least))


def test_convolution(torch: Any) -> None:
    functional = torch.nn.functional
    x, w, b = drawn(1, 64, 256, 256), drawn(64, 64, 3, 3, seed=2), drawn(64, seed=3)
    a, weights, bias = Tensor.from_numpy(x), ops.pack_conv_weights(Tensor.from_numpy(w)), Tensor.from_numpy(b)
    compare(
        torch,
        "convolution 3x3, 64 channels, 256²",
        lambda: ops.conv(a, weights, bias, padding=1),
        lambda x, w, b: functional.conv2d(x, w, b, padding=1),
        [torch.tensor(v, device="cuda") for v in (x, w, b)],
        1.0,
    )


@pytest.mark.parametrize("causal", [False, True])
def test_attention(torch: Any, causal: bool) -> None:
    functional = torch.nn.functional
    arrays = [drawn(1, 8, 4096, 64, seed=seed) for seed in (1, 2, 3)]
    q, k, v = (Tensor.from_numpy(array) for array in arrays)
    compare(
        torch,
        f"attention, 8 heads of 4096 x 64{', causal' if causal else ''}",
        lambda: ops.attention(q, k, v, causal=causal),
        lambda *inputs: functional.scaled_dot_product_attention(*inputs, is_causal=causal),
        [torch.tensor(array, device="cuda") for array in arrays],
        1.0,
    )


@pytest.mark.parametrize(
    ("name", "least"), [("layer norm", 0.8), ("softmax", 0.8), ("GELU", 0.78), ("relu(2 x + 1) x", 0.87)]
)
def test_memory_bound_operations(torch: Any, name: str, least: float) -> None:
    functional = torch.nn.functional
    array = drawn(1 << 16, 1024)
    x = Tensor.from_numpy(array)
    ours, theirs = {
        "layer norm": (lambda: ops.layer_norm(x), lambda y: functional.layer_norm(y, (1024,))),
        "softmax": (lambda: ops.softmax(x), lambda y: torch.softmax(y, 1)),
        "GELU": (lambda: ops.gelu(x), functional.gelu),
        "relu(2 x + 1) x": (
            lambda: ops.fused(lambda v: ops.relu(v * 2 + 1) * v, x),
            lambda y: functional.relu(y * 2 + 1) * y,
        ),
    }[name]
    compare(torch, f"{name} of 2²⁶ elements", ours, theirs, [torch.tensor(array, device="cuda")], least)
