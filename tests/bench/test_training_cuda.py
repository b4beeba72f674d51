"""Steps of training a second against PyTorch on the same GPU, in one run: forward, backward and Adam.

A small network, 3→64→64→64→4 on 2¹⁸ points: forward 8,640 fused multiply-adds a point, and three times as many on the
way back, which works the activations out again. Floor on an H100: 0.28 ms at 1.98 GHz; points, outputs and their
gradients are 18 MB, 6 µs. And a classifier of pictures by convolutions, 64 of 28² a step.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor, learn, ops
from vertigrad.gpu import Plan
from vertigrad.ops import Mlp

from .cuda import replay_milliseconds, torch_milliseconds, torch_on_the_same_gpu

pytestmark = pytest.mark.bench

POINTS = 1 << 18
SIZES = (3, 64, 64, 64, 4)
PICTURES, CHANNELS, CLASSES = 64, (1, 32, 64), 10
RATE = 1e-3
OF_COMPILED, OF_EAGER = 1.5, 0.7  # steps a second, as multiples of torch's


def our_step(record: Callable[[], Tensor], optimiser: learn.Optimiser) -> tuple[float, float]:
    """Milliseconds of a step from a plan that is replayed, and the loss before the second step."""
    with Plan("step") as plan:
        with plan.recording():
            loss = record()
            loss.backward()
            optimiser.step()
        plan.replay(**optimiser.fields())
        plan.replay(**optimiser.fields())
        second = float(loss.item())
        mine = replay_milliseconds(lambda: plan.replay(**optimiser.fields()))
        loss.close()
    return mine, second


def their_step(torch: Any, module: Any, given: Any, wanted: Any, loss: Callable[..., Any]) -> tuple[float, float]:
    """The same of torch: Adam over all weights at once, and the loss before the second step."""
    optimiser = torch.optim.Adam(module.parameters(), lr=RATE, fused=True)

    def step() -> Any:
        optimiser.zero_grad(set_to_none=True)
        found = loss(module(given), wanted)
        found.backward()
        optimiser.step()
        return found

    step()
    second = float(step())
    return torch_milliseconds(torch, step), second


def test_a_small_network_learns_faster_than_compiled_torch() -> None:
    torch = torch_on_the_same_gpu()
    random = np.random.default_rng(1)
    weights = [(random.normal(size=(n, m)) * (2.0 / m) ** 0.5).astype(np.float32) for m, n in pairwise(SIZES)]
    biases = [np.zeros(n, np.float32) for n in SIZES[1:]]
    x = random.normal(size=(POINTS, SIZES[0])).astype(np.float32)
    wanted = np.sin(x @ random.normal(size=(SIZES[0], SIZES[-1]))).astype(np.float32)

    def network() -> Any:
        layers = []
        for weight, bias in zip(weights, biases, strict=True):
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
            layer.weight.data, layer.bias.data = torch.from_numpy(weight.copy()), torch.from_numpy(bias.copy())
            layers += [layer, torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1]).cuda()

    given, target = torch.from_numpy(x).cuda(), torch.from_numpy(wanted).cuda()
    squared = torch.nn.functional.mse_loss
    eager, theirs = their_step(torch, network(), given, target, squared)
    compiled, _ = their_step(torch, torch.compile(network()), given, target, squared)
    with (
        Mlp(weights, biases, learns=True) as net,
        learn.Adam([net.parameters], RATE) as optimiser,
        Tensor.from_numpy(x) as points,
        Tensor.from_numpy(wanted) as values,
    ):
        mine, loss = our_step(lambda: learn.l2_loss(net(points), values), optimiser)
    print(
        f"\ntraining 3→64→64→64→4 on 2¹⁸ points, f32: torch eager {1e3 / eager:.0f} steps/s, compiled "
        f"{1e3 / compiled:.0f}, ours {1e3 / mine:.0f} ({mine:.3f} ms): {compiled / mine:.2f}x compiled"
    )
    assert abs(loss - theirs) <= 1e-4 * theirs
    assert mine * OF_COMPILED <= compiled


def test_a_classifier_by_convolutions_learns_nearly_as_fast_as_eager_torch() -> None:
    torch = torch_on_the_same_gpu()
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = False, True
    torch.manual_seed(1)
    nn = torch.nn
    module = nn.Sequential(
        *(nn.Conv2d(*CHANNELS[:2], 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(*CHANNELS[1:], 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(CHANNELS[2] * 49, CLASSES)),
    )
    arrays = [parameter.detach().numpy().copy() for parameter in module.parameters()]
    random = np.random.default_rng(2)
    pictures = random.normal(size=(PICTURES, 1, 28, 28)).astype(np.float32)
    classes = random.integers(0, CLASSES, PICTURES)
    eager, theirs = their_step(
        torch,
        module.cuda(),
        torch.from_numpy(pictures).cuda(),
        torch.from_numpy(classes).cuda(),
        nn.functional.cross_entropy,
    )
    held = [Tensor.from_numpy(array, f"weights.{number}") for number, array in enumerate(arrays)]
    given, target = Tensor.from_numpy(pictures), Tensor.from_numpy(classes.astype(np.int32))

    def record() -> Tensor:
        signal = ops.max_pool(ops.conv(given, held[0], held[1], padding=1, activation="relu"), (2, 2), stride=2)
        signal = ops.max_pool(ops.conv(signal, held[2], held[3], padding=1, activation="relu"), (2, 2), stride=2)
        return learn.cross_entropy(ops.linear(signal.reshape(PICTURES, -1), held[4], held[5]), target)

    with learn.Adam(held, RATE) as optimiser:
        mine, loss = our_step(record, optimiser)
    vertigrad.gpu().sync()
    print(
        f"\ntraining a classifier by convolutions, {PICTURES} pictures a step: torch eager {1e3 / eager:.0f} steps/s, "
        f"ours {1e3 / mine:.0f} ({mine:.3f} ms): {eager / mine:.2f}x"
    )
    for tensor in (*held, given, target):
        tensor.close()
    assert abs(loss - theirs) <= 1e-3 * theirs
    assert mine * OF_EAGER <= eager
