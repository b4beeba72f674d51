"""Convolution, attention and what is bound by memory against PyTorch on the same GPU, in one run.

Floors on an H100 (4 × 32 lanes of 132 multiprocessors at 1.755 GHz): 4.8 GFLOP of a 3×3 convolution of 64 channels at
256² take 0.081 ms, 34 GFLOP of attention over 8 heads of 4096 × 64 take 0.58 ms; 256 MiB read and 256 MiB written at
3 TB/s take 0.18 ms. PyTorch multiplies in f32 here too, without TF32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops

from .cuda import our_milliseconds, torch_milliseconds, torch_on_the_same_gpu

pytestmark = pytest.mark.bench


@pytest.fixture
def torch() -> Any:
    """PyTorch, on the GPU that is measured."""
    found = torch_on_the_same_gpu()
    found.backends.cudnn.allow_tf32 = False
    found.backends.cudnn.benchmark = True
    return found


def drawn(*shape: int, seed: int = 1) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=shape) / 4).astype(np.float32)


def compare(torch: Any, name: str, ours: Callable[[], Tensor], theirs: Callable[[], Any], ratio: float) -> None:
    """Print both, and see that ours is right and takes no longer than theirs / `ratio`."""
    got, want = ours().numpy(), theirs().cpu().numpy()
    assert np.abs(got - want).max() < 2e-5 * max(1.0, np.abs(want).max())
    mine, other = our_milliseconds(ours, copies=1), torch_milliseconds(torch, theirs)
    print(f"\n{name}: ours {mine:.4f} ms, PyTorch {other:.4f} ms: {other / mine:.2f}x", end="")
    assert mine <= other / ratio


def test_convolution(torch: Any) -> None:
    functional = torch.nn.functional
    x, w, b = drawn(1, 64, 256, 256), drawn(64, 64, 3, 3, seed=2), drawn(64, seed=3)
    a, weights, bias = Tensor.from_numpy(x), ops.pack_conv_weights(Tensor.from_numpy(w)), Tensor.from_numpy(b)
    x, w, b = (torch.tensor(v, device="cuda") for v in (x, w, b))
    compare(
        torch,
        "convolution 3x3, 64 channels, 256²",
        lambda: ops.conv(a, weights, bias, padding=1),
        lambda: functional.conv2d(x, w, b, padding=1),
        0.6,
    )


@pytest.mark.parametrize("causal", [False, True])
def test_attention(torch: Any, causal: bool) -> None:
    functional = torch.nn.functional
    arrays = [drawn(1, 8, 4096, 64, seed=seed) for seed in (1, 2, 3)]
    q, k, v = (Tensor.from_numpy(array) for array in arrays)
    theirs = [torch.tensor(array, device="cuda") for array in arrays]
    compare(
        torch,
        f"attention, 8 heads of 4096 x 64{', causal' if causal else ''}",
        lambda: ops.attention(q, k, v, causal=causal),
        lambda: functional.scaled_dot_product_attention(*theirs, is_causal=causal),
        0.5,
    )


@pytest.mark.parametrize("name", ["layer_norm", "softmax", "gelu", "fused"])
def test_what_memory_bounds(torch: Any, name: str) -> None:
    functional = torch.nn.functional
    array = drawn(1 << 16, 1024)
    x, y = Tensor.from_numpy(array), torch.tensor(array, device="cuda")
    ours, theirs = {
        "layer_norm": (lambda: ops.layer_norm(x), lambda: functional.layer_norm(y, (1024,))),
        "softmax": (lambda: ops.softmax(x), lambda: torch.softmax(y, 1)),
        "gelu": (lambda: ops.gelu(x), lambda: functional.gelu(y)),
        "fused": (
            lambda: ops.fused(lambda v: ops.relu(v * 2 + 1) * v, x),
            lambda: functional.relu(y * 2 + 1) * y,
        ),
    }[name]
    compare(torch, f"{name} of 2²⁶ elements", ours, theirs, 0.5)
