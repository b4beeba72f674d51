"""A small network, 3→64→64→64→4 on 2²⁰ points, against PyTorch on the same GPU, in one run.

PyTorch is compiled with its kernels tuned ("max-autotune") and replayed from a CUDA graph, in f32, TF32 and f16. Floor
on an H200: 8,640 fused multiply-adds a point are 0.27 ms at 1.98 GHz; the points and outputs are 29 MB, 7 µs.
"""

from __future__ import annotations

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.ops import Mlp

from .accuracy import assert_close_in_norm
from .cuda import PRECISIONS, our_milliseconds, torch_on_the_same_gpu, torch_variants
from .networks import random_layers, torch_module
from .results import Result, report

POINTS = 1 << 20
SIZES = (3, 64, 64, 64, 4)
LEAST = 2.3  # times the fastest f32 of PyTorch


@pytest.mark.bench
def test_a_network_in_one_kernel_is_faster_than_torch() -> None:
    torch = torch_on_the_same_gpu()
    layers = random_layers(SIZES, bias=1.0)
    x = np.random.default_rng(2).normal(size=(POINTS, 3)).astype(np.float32)
    torch_x = torch.from_numpy(x).cuda()
    peers = {}
    with torch.no_grad():
        exact = torch_module(torch, layers).double()(torch_x.double()).cpu().numpy()
        for name in PRECISIONS:
            module, points = torch_module(torch, layers), torch_x
            if name == "f16":
                module, points = module.half(), torch_x.half()
            peers[f"torch {name}"] = min(torch_variants(torch, name, module, points, tuned=True).values())
    with (
        Mlp(*layers) as net,
        Mlp([w.astype(np.float16) for w in layers.weights], layers.biases) as packed,
        Tensor.from_numpy(x) as points,
        Tensor.empty((POINTS, 4)) as out,
    ):
        peers["ours, weights in f16"] = our_milliseconds(lambda: packed(points, out=out))
        mine = our_milliseconds(lambda: net(points, out=out))
        found = out.numpy()
    assert_close_in_norm(found, exact, 1e-6)
    report(Result("network 3→64→64→64→4", "2²⁰ points, f32", "ms", mine, peers, "torch f32", LEAST))
