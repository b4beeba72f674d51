"""Steps of training a second against PyTorch on the same GPU, in one run: forward pass, backward pass and Adam.

PyTorch runs network and loss eager and compiled, each also with the whole step, optimizer included, in a CUDA graph;
the fastest is the peer. A small network, 3→64→64→64→4 on 2¹⁸ points: 8,640 fused multiply-adds a point forward, three
times as many backward, which recomputes the activations. Floor on an H200: 0.28 ms at 1.98 GHz; points, outputs and
their gradients are 18 MB, 4 µs. And a classifier of images by convolutions, 64 of 28² a step.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vertigrad
from vertigrad import Tensor, learn, ops
from vertigrad.gpu import Plan
from vertigrad.ops import Mlp

from .cuda import graphed, precision, replay_milliseconds, torch_milliseconds, torch_on_the_same_gpu
from .networks import random_layers, torch_module
from .results import Result, report

pytestmark = pytest.mark.bench

POINTS = 1 << 18
SIZES = (3, 64, 64, 64, 4)
IMAGES, CHANNELS, CLASSES = 64, (1, 32, 64), 10
RATE = 1e-3
COMPARED = 20  # number of compared losses


def our_steps(record: Callable[[], Tensor], optimizer: learn.Optimizer) -> tuple[float, np.ndarray]:
    """Milliseconds of a step from a plan that is replayed, and the losses of the first steps."""
    with Plan("step") as plan:
        with plan.recording():
            loss = record()
            loss.backward()
            optimizer.step()
        losses = []
        for _ in range(COMPARED):
            plan.replay(**optimizer.fields())
            losses.append(float(loss.item()))
        mine = replay_milliseconds(lambda: plan.replay(**optimizer.fields()))
        loss.close()
    return mine, np.array(losses)


def torch_steps(torch: Any, module: Any, loss: Callable[..., Any], *batch: Any) -> tuple[dict[str, float], np.ndarray]:
    """Milliseconds of a step for each variant, and the losses of the first steps."""
    variants, losses = {}, np.zeros(0)
    for variant in ("eager", "compiled"):
        torch.compiler.reset()
        own = copy.deepcopy(module)
        optimizer = torch.optim.Adam(own.parameters(), lr=RATE, fused=True, capturable=True)

        def forward(*batch: Any, own: Any = own) -> Any:
            return loss(own(batch[0]), batch[1])

        run = torch.compile(forward) if variant == "compiled" else forward

        def step(run: Any = run, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad(set_to_none=True)
            found = run(*batch)
            found.backward()
            optimizer.step()
            return found

        if variant == "eager":
            losses = np.array([float(step()) for _ in range(COMPARED)])
        variants[variant] = torch_milliseconds(torch, step)
        variants[f"{variant}, graph"] = torch_milliseconds(torch, graphed(torch, step))
    return variants, losses


def compare(torch: Any, work: str, module: Any, loss: Callable[..., Any], batch: tuple[Any, ...], ours: Any) -> None:
    """Run torch in f32 and TF32, see that the losses agree, and report steps a second. `ours` is of `our_steps`."""
    (mine, losses), least = ours
    peers = {}
    for name in ("f32", "TF32"):
        with precision(torch, name):
            variants, theirs = torch_steps(torch, module, loss, *batch)
        if name == "f32":
            np.testing.assert_allclose(losses, theirs, rtol=2e-4)
            peers["torch f32 eager"] = 1e3 / variants["eager"]
        peers[f"torch {name}"] = 1e3 / min(variants.values())
        print(f"\ntorch {name}: {', '.join(f'{variant} {ms:.4g} ms' for variant, ms in variants.items())}", end="")
    assert losses[-1] < losses[0]
    report(Result("training", work, "steps/s", 1e3 / mine, peers, "torch f32", least))


def test_a_small_network_trains_faster_than_torch() -> None:
    torch = torch_on_the_same_gpu()
    layers, random = random_layers(SIZES), np.random.default_rng(1)
    x = random.normal(size=(POINTS, SIZES[0])).astype(np.float32)
    target = np.sin(x @ random.normal(size=(SIZES[0], SIZES[-1]))).astype(np.float32)
    with (
        Mlp(*layers, requires_grad=True) as net,
        learn.Adam([net.parameters], RATE) as optimizer,
        Tensor.from_numpy(x) as points,
        Tensor.from_numpy(target) as values,
    ):
        ours = our_steps(lambda: learn.l2_loss(net(points), values), optimizer)
    batch = torch.from_numpy(x).cuda(), torch.from_numpy(target).cuda()
    work = "3→64→64→64→4 on 2¹⁸ points, f32"
    compare(torch, work, torch_module(torch, layers), torch.nn.functional.mse_loss, batch, (ours, 1.2))


def test_a_convolutional_classifier_against_torch() -> None:
    torch = torch_on_the_same_gpu()
    torch.manual_seed(1)
    nn = torch.nn
    module = nn.Sequential(
        *(nn.Conv2d(*CHANNELS[:2], 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(*CHANNELS[1:], 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(CHANNELS[2] * 49, CLASSES)),
    )
    arrays = [parameter.detach().numpy().copy() for parameter in module.parameters()]
    random = np.random.default_rng(2)
    images = random.normal(size=(IMAGES, 1, 28, 28)).astype(np.float32)
    classes = random.integers(0, CLASSES, IMAGES)
    held = [Tensor.from_numpy(array, f"weights.{number}") for number, array in enumerate(arrays)]
    inputs, target = Tensor.from_numpy(images), Tensor.from_numpy(classes.astype(np.int32))

    def record() -> Tensor:
        signal = ops.max_pool(ops.conv(inputs, held[0], held[1], padding=1, activation="relu"), (2, 2), stride=2)
        signal = ops.max_pool(ops.conv(signal, held[2], held[3], padding=1, activation="relu"), (2, 2), stride=2)
        return learn.cross_entropy(ops.linear(signal.reshape(IMAGES, -1), held[4], held[5]), target)

    with learn.Adam(held, RATE) as optimizer:
        ours = our_steps(record, optimizer)
    vertigrad.gpu().sync()
    for tensor in (*held, inputs, target):
        tensor.close()
    batch = torch.from_numpy(images).cuda(), torch.from_numpy(classes).cuda()
    work = f"classifier by convolutions, {IMAGES} images a step, f32"
    compare(torch, work, module.cuda(), nn.functional.cross_entropy, batch, (ours, None))
