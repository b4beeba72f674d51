"""Tokens a second of a transformer of 1.2 B parameters with seeded random weights, against PyTorch on the same GPU.

PyTorch runs the same transformer in f16, compiled with its kernels tuned and not, each from a CUDA graph. What the
memory allows is the bytes of the weights by the bandwidth of a copy.
"""

from __future__ import annotations

import pytest

from .cuda import torch_on_the_same_gpu
from .language_models import CONFIG, RandomWeights, bandwidth, ours, theirs, torch_bandwidth
from .results import Result, report

pytestmark = pytest.mark.bench
LEAST_OF_BANDWIDTH = 0.5  # for weights of f16


@pytest.mark.turns(3)
def test_tokens_come_faster_than_by_torch() -> None:
    torch = torch_on_the_same_gpu()
    weights = RandomWeights(CONFIG).weights()
    rate = max(bandwidth(), torch_bandwidth(torch))
    peers = {f"torch f16, {row.name.split(', ')[1]}": 1e3 / row.ms for row in theirs(torch, weights, CONFIG, rate)}
    peers["torch f16"] = max(peers.values())
    for format in ("f16", "int4"):
        greedy = next(ours(weights, CONFIG, format, rate))
        work = f"1.2 B parameters, {format}, most probable token"
        mine = 1e3 / greedy.ms
        report(Result("language model", work, "tokens/s", mine, peers | {"bandwidth": greedy.limit}, "torch f16", 1.0))
        if format == "f16":
            assert mine >= LEAST_OF_BANDWIDTH * greedy.limit
