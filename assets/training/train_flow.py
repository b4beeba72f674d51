"""Train the network of the `flow` model: a velocity field that carries noise to one of three shapes.

    python assets/training/train_flow.py [--seed 7] [--steps 20000] [--out FILE]

Needs JAX, optax and safetensors. Prints the loss, writes `assets/weights/flow.safetensors`; some minutes on two cores.

What is learned. Flow matching (Lipman et al. 2023, "Flow Matching for Generative Modeling", section 4): with x₀ from a
normal distribution, x₁ from a shape and t from [0, 1], the network v(x, t, c) is fitted to x₁ − x₀ at the point
x = (1 − t) x₀ + t x₁. Following dx/dt = v from t = 0 to 1 then carries the distribution of the noise to that of the
shape, and back if time runs backwards. c is one of three unit vectors: the shape.

The shapes, all within about 1.6 of the origin: a trefoil knot, three Hopf-linked rings, and a rose-shaped shell
r(θ) = |cos 5θ/2| wound around a sphere. Their points are made here; no data file is needed.

The file. float32 tensors `layer{i}.weight` (out, in) and `layer{i}.bias` (out,); inputs are x, y, z, t, c;
hidden layers have the activation in the metadata, the last one is linear. Metadata, all of it text: `format`
"vertigrad.flow", `version` "1", `activation`, `shapes` (names separated by commas), `loss`, `seed`.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

ASSETS = Path(__file__).resolve().parent.parent
SHAPES = ("knot", "rings", "rose")
WIDTH, HIDDEN = 64, 3
BATCH = 4096


def around(curve: np.ndarray, radius: float, random: np.random.Generator) -> np.ndarray:
    """Points in a tube around points of a curve."""
    return curve + radius * random.normal(size=curve.shape)


def knot(count: int, random: np.random.Generator) -> np.ndarray:
    t = random.uniform(0, 2 * np.pi, count)
    curve = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], 1)
    return around(0.5 * curve, 0.05, random)


def rings(count: int, random: np.random.Generator) -> np.ndarray:
    which, t = random.integers(0, 3, count), random.uniform(0, 2 * np.pi, count)
    flat = np.stack([np.cos(t), np.sin(t), np.zeros(count)], 1) * 0.85
    turned = np.where((which % 2 == 1)[:, None], flat[:, [0, 2, 1]], flat)
    return around(turned + np.array([0.9, 0.0, 0.0]) * (which - 1)[:, None], 0.035, random)


def rose(count: int, random: np.random.Generator) -> np.ndarray:
    theta, height = random.uniform(0, 2 * np.pi, count), random.uniform(-1, 1, count)
    radius = 0.55 + 0.85 * np.abs(np.cos(2.5 * theta + 1.2 * height))
    ring = np.sqrt(1 - 0.9 * height**2)
    return around(
        np.stack([radius * ring * np.cos(theta), 0.9 * height, radius * ring * np.sin(theta)], 1), 0.02, random
    )


def batch(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(inputs, velocities)."""
    third = BATCH // 3 + 1
    points = np.concatenate([shape(third, random) for shape in (knot, rings, rose)])
    which = np.repeat(np.eye(3), third, axis=0)
    noise, t = random.normal(size=points.shape), random.uniform(size=(len(points), 1))
    return np.concatenate([(1 - t) * noise + t * points, t, which], 1).astype("f4"), (points - noise).astype("f4")


def start(random: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    sizes = [4 + len(SHAPES), *[WIDTH] * HIDDEN, 3]
    return [
        ((random.normal(size=(o, i)) * np.sqrt(2.0 / i)).astype("f4"), np.zeros(o, "f4")) for i, o in pairwise(sizes)
    ]


def network(layers: list, x: jax.Array) -> jax.Array:
    for weight, bias in layers[:-1]:
        x = jax.nn.silu(x @ weight.T + bias)
    return x @ layers[-1][0].T + layers[-1][1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=ASSETS / "weights" / "flow.safetensors")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    layers = start(random)
    rate = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 500, given.steps, 1e-5)
    optimiser = optax.adam(rate)
    state, averaged = optimiser.init(layers), layers

    @jax.jit
    def step(layers, state, averaged, x, y):  # type: ignore[no-untyped-def]
        loss, slope = jax.value_and_grad(lambda n: jnp.mean((network(n, x) - y) ** 2))(layers)
        change, state = optimiser.update(slope, state)
        layers = optax.apply_updates(layers, change)
        averaged = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b, averaged, layers)
        return layers, state, averaged, loss

    begin, losses = time.time(), []
    for number in range(given.steps):
        layers, state, averaged, loss = step(layers, state, averaged, *batch(random))
        losses.append(float(loss)) if number % 10 == 0 else None
        if number % 1000 == 999:
            print(f"{number + 1} steps, loss {np.mean(losses[-100:]):.4f}, {time.time() - begin:.0f} s", flush=True)
    tensors = {}
    for index, (weight, bias) in enumerate(averaged):
        tensors |= {f"layer{index}.weight": np.array(weight), f"layer{index}.bias": np.array(bias)}
    told = {"format": "vertigrad.flow", "version": "1", "activation": "silu", "shapes": ",".join(SHAPES)}
    save_file(tensors, given.out, told | {"loss": f"{np.mean(losses[-200:]):.4f}", "seed": str(given.seed)})


if __name__ == "__main__":
    main()
