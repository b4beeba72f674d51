"""A small network, 3→64→64→64→4 on 2²⁰ points, against PyTorch on the same GPU, in one run.

Floor on an H100: 8,640 fused multiply-adds a point are 0.27 ms at 1.98 GHz; the points and outputs are 29 MB, 10 µs.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from vertigrad import Tensor
from vertigrad.ops import Mlp

from .cuda import our_milliseconds, torch_milliseconds, torch_on_the_same_gpu

POINTS = 1 << 20
SIZES = (3, 64, 64, 64, 4)
MOST_MS = 0.6


@pytest.mark.bench
def test_a_network_in_one_kernel_is_faster_than_torch() -> None:
    torch = torch_on_the_same_gpu()
    random = np.random.default_rng(1)
    weights = [(random.normal(size=(n, m)) * (2.0 / m) ** 0.5).astype(np.float32) for m, n in pairwise(SIZES)]
    biases = [random.normal(size=n).astype(np.float32) for n in SIZES[1:]]
    x = random.normal(size=(POINTS, 3)).astype(np.float32)

    def network(dtype):  # type: ignore[no-untyped-def]
        layers = []
        for weight, bias in zip(weights, biases, strict=True):
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
            layer.weight.data, layer.bias.data = torch.from_numpy(weight), torch.from_numpy(bias)
            layers += [layer, torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1]).cuda().to(dtype)

    given = torch.from_numpy(x).cuda()
    with torch.no_grad():
        whole, halved, given_half = network(torch.float32), network(torch.float16), given.half()
        eager = torch_milliseconds(torch, lambda: whole(given))
        half = torch_milliseconds(torch, lambda: halved(given_half))
        wanted = network(torch.float64)(given.double()).cpu().numpy()
    with (
        Mlp(weights, biases) as net,
        Mlp([w.astype(np.float16) for w in weights], biases) as packed,
        Tensor.from_numpy(x) as points,
        Tensor.empty((POINTS, 4)) as out,
    ):
        stored_half = our_milliseconds(lambda: packed(points, out=out))
        mine = our_milliseconds(lambda: net(points, out=out))
        got = out.numpy()
    print(
        f"\n3→64→64→64→4 on 2²⁰ points: torch f32 {eager:.3f} ms, f16 {half:.3f} ms; ours {mine:.3f} ms, with weights "
        f"stored in f16 {stored_half:.3f} ms"
    )
    assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()
    assert mine <= MOST_MS
