"""Train the network of the `sdf_surface` model: the signed distance to a family of solids, each with its own latent.

    python assets/training/train_sdf.py [--seed 5] [--steps 7000] [--out FILE]

Needs JAX, optax, SciPy and safetensors. Prints the errors, writes `assets/weights/sdf.safetensors`; some minutes on two
cores.

What is learned. An auto-decoder (Park et al. 2019, "DeepSDF", section 4): f(x, z) is fitted to the signed distance from
x to the solid whose latent is z, negative within, and the latents are fitted along with the weights. They begin at the
corners of an octahedron, with a penalty on leaving them, so that the walk from one to the next does not cross a third.
Beside the distances the slope is fitted: to the normal on the surfaces; elsewhere, and for any latent, to length 1
(Gropp et al. 2020, "Implicit Geometric Regularization", equation 2). Two last terms see to it that every latent, not
only those of the solids, has a surface that the model finds along rays from the centre: outwards the distance must
grow, and near the centre it must be negative.

The solids are star-shaped, each a formula for the radius by direction (`RADII`), which the model's tests know as well.
Distances are those to the nearest of many points of the surface, along its normal where that is near. All is made
here; no data file is needed.

The file. float32 tensors `layer{i}.weight` (out, in) and `layer{i}.bias` (out,), inputs x, y, z and the latent, SiLU
after every layer but the last; `latents` (solids, 3). Metadata, all of it text: `format` "vertigrad.sdf", `version`
"1", `activation`, `shapes` (names separated by commas, in the order of `latents`), `latents` (the same in JSON, by
name), `error`, `seed`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file
from scipy.spatial import cKDTree

ASSETS = Path(__file__).resolve().parent.parent
WIDTH, HIDDEN = 64, 3
REACH = 1.7  # radius of the ball in which the distance is learned
DENSE = 200_000  # points of each surface
SAMPLES = 60_000  # distances of each solid
BATCH, SLOPES = 1536, 768
CORNERS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]], float)


def icosahedron() -> np.ndarray:
    """Its 12 corners, unit vectors."""
    golden = (1 + 5**0.5) / 2
    turns = [np.roll([0.0, a, b * golden], turn) for turn in range(3) for a in (-1, 1) for b in (-1, 1)]
    return np.array(turns) / np.hypot(1, golden)


def star(d: np.ndarray) -> np.ndarray:
    return 0.68 + 0.44 * np.exp(9.0 * (d @ icosahedron().T - 1.0)).sum(-1)


def cube(d: np.ndarray) -> np.ndarray:
    return 0.8 * (np.abs(d) ** 6).sum(-1) ** (-1 / 6)


def twist(d: np.ndarray) -> np.ndarray:
    ring = d[..., 0] ** 2 + d[..., 2] ** 2
    return 0.86 + 0.17 * ring * np.cos(5 * np.arctan2(d[..., 2], d[..., 0]) + 3.0 * d[..., 1])


def gourd(d: np.ndarray) -> np.ndarray:
    """An oval of Cassini around its long axis, y."""
    sine = 4 * d[..., 1] ** 2 * (1 - d[..., 1] ** 2)  # of twice the angle, squared
    return 0.82 * np.sqrt(0.9 * (2 * d[..., 1] ** 2 - 1) + np.sqrt(1.1 - 0.81 * sine))


def drop(d: np.ndarray) -> np.ndarray:
    return 0.72 + 0.52 * np.exp(5.0 * (d[..., 1] - 1.0))


def sphere(d: np.ndarray) -> np.ndarray:
    return np.full(d.shape[:-1], 0.85)


RADII = {"star": star, "cube": cube, "twist": twist, "gourd": gourd, "drop": drop, "sphere": sphere}


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def surface(radius, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[no-untyped-def]
    """Points and outward normals, from the slope of |x| − radius(x / |x|)."""
    d = unit(random.normal(size=(DENSE, 3)))
    points, step = d * radius(d)[:, None], 1e-4 * np.eye(3)

    def height(x: np.ndarray) -> np.ndarray:
        return np.linalg.norm(x, axis=-1) - radius(unit(x))

    return points, unit(np.stack([height(points + s) - height(points - s) for s in step], -1))


def distances(radius, random: np.random.Generator) -> tuple[np.ndarray, ...]:  # type: ignore[no-untyped-def]
    """Places, their signed distances, and points of the surface with their normals."""
    points, normals = surface(radius, random)
    half, quarter = SAMPLES // 2, SAMPLES // 4
    spread = np.concatenate([np.full(half, 0.03), np.full(quarter, 0.2)])[:, None] * random.normal(
        size=(3 * quarter, 1)
    )
    ball = unit(random.normal(size=(quarter, 3))) * REACH * random.uniform(size=(quarter, 1)) ** (1 / 3)
    places = np.concatenate([points[: 3 * quarter] + spread * normals[: 3 * quarter], ball])
    away, nearest = cKDTree(points).query(places, workers=2)
    along = ((places - points[nearest]) * normals[nearest]).sum(-1)
    inside = np.linalg.norm(places, axis=1) < radius(unit(places + 1e-9))
    signed = np.where(away < 0.06, along, np.where(inside, -away, away))
    return tuple(a.astype("f4") for a in (places, signed, points, normals))


def start(random: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
    sizes = [6, *[WIDTH] * HIDDEN, 1]
    layers = [
        ((random.normal(size=(o, i)) * np.sqrt(2.0 / i)).astype("f4"), np.zeros(o, "f4"))
        for i, o in itertools.pairwise(sizes)
    ]
    layers[0] = (layers[0][0] * 2.5, random.uniform(-2, 2, WIDTH).astype("f4"))
    return layers


def network(layers: list, x: jax.Array, z: jax.Array) -> jax.Array:
    """Distances (n,) of points (n, 3), each for its own latent (n, 3)."""
    values = jnp.concatenate([x, z], 1)
    for weight, bias in layers[:-1]:
        values = jax.nn.silu(values @ weight.T + bias)
    return (values @ layers[-1][0].T + layers[-1][1])[:, 0]


def slope(layers: list, x: jax.Array, z: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Distances (n,) and their derivatives by x, (n, 3)."""
    values, back = jax.vjp(lambda at: network(layers, at, z), x)
    return values, back(jnp.ones_like(values))[0]


def loss(learned: tuple, data: tuple) -> tuple[jax.Array, jax.Array]:
    layers, latents = learned
    which, places, signed, on, points, normals, pair, share, anywhere, ball = data
    told = network(layers, places, latents[which])
    fit = jnp.mean(jnp.abs(told - signed))
    values, across = slope(layers, points, latents[on])
    flat = jnp.mean(jnp.abs(values)) + 0.1 * jnp.mean(jnp.sum((across - normals) ** 2, 1))
    between = latents[pair[0]] * (1 - share) + latents[pair[1]] * share
    free = jnp.concatenate([between[: SLOPES // 2], anywhere])
    values, across = slope(layers, ball, free)
    length = jnp.sqrt(jnp.sum(across**2, 1) + 1e-9)
    outwards = jnp.sum(across * ball, 1) / jnp.linalg.norm(ball, axis=1)
    near = jnp.linalg.norm(ball, axis=1) > 0.35
    unit_slope = jnp.mean((length - 1.0) ** 2)
    star_shaped = jnp.mean(near * jnp.maximum(0.3 - outwards, 0.0) ** 2)
    hollow = jnp.mean(jnp.maximum(network(layers, 0.2 * ball, free) + 0.3, 0.0) ** 2)
    stray = jnp.mean((latents - CORNERS) ** 2)
    return fit + flat + 0.03 * unit_slope + 0.3 * (star_shaped + hollow) + 0.02 * stray, fit


def batch(solids: list[np.ndarray], random: np.random.Generator) -> tuple:

    count = len(CORNERS)
    which, at = random.integers(0, count, BATCH), random.integers(0, SAMPLES, BATCH)
    on, there = random.integers(0, count, SLOPES), random.integers(0, DENSE, SLOPES)
    pair = random.integers(0, count, (2, SLOPES))
    share = random.uniform(size=(SLOPES, 1)).astype("f4")
    anywhere = random.uniform(-1.2, 1.2, (SLOPES - SLOPES // 2, 3))
    ball = unit(random.normal(size=(SLOPES, 3))) * REACH * random.uniform(size=(SLOPES, 1)) ** 0.5
    places, signed, points, normals = solids
    return (
        which,
        places[which, at],
        signed[which, at],
        on,
        points[on, there],
        normals[on, there],
        pair,
        share,
        anywhere,
        ball,
    )


def surface_error(layers: list, latents: np.ndarray, random: np.random.Generator) -> float:
    """Root mean square of f on the surface of each solid, printed; the largest of them."""
    errors = []
    for latent, radius in zip(latents, RADII.values(), strict=True):
        d = unit(random.normal(size=(4096, 3)))
        x = jnp.array(d * radius(d)[:, None], "f4")
        errors.append(float(jnp.sqrt(jnp.mean(network(layers, x, jnp.tile(latent, (4096, 1))) ** 2))))
    print(dict(zip(RADII, np.round(errors, 4), strict=True)))
    return max(errors)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=ASSETS / "weights" / "sdf.safetensors")
    given = parser.parse_args()
    random = np.random.default_rng(given.seed)
    solids = [np.stack(part) for part in zip(*(distances(r, random) for r in RADII.values()), strict=True)]
    learned = (start(random), CORNERS.astype("f4"))
    rate = optax.warmup_cosine_decay_schedule(0.0, 4e-3, 200, given.steps, 2e-5)
    optimiser = optax.adam(rate)
    state, averaged = optimiser.init(learned), learned

    @jax.jit
    def step(learned, state, averaged, data):  # type: ignore[no-untyped-def]
        (_, fit), change = jax.value_and_grad(loss, has_aux=True)(learned, data)
        change, state = optimiser.update(change, state)
        learned = optax.apply_updates(learned, change)
        averaged = jax.tree.map(lambda a, b: 0.998 * a + 0.002 * b, averaged, learned)
        return learned, state, averaged, fit

    begin, fits = time.time(), []
    for number in range(given.steps):
        learned, state, averaged, fit = step(learned, state, averaged, batch(solids, random))
        fits.append(float(fit)) if number % 10 == 0 else None
        if number % 500 == 499:
            print(f"{number + 1} steps, error {np.mean(fits[-50:]):.4f}, {time.time() - begin:.0f} s", flush=True)
    layers, latents = averaged
    error = surface_error(layers, latents, random)
    tensors = {"latents": np.array(latents)}
    for index, (weight, bias) in enumerate(layers):
        tensors |= {f"layer{index}.weight": np.array(weight), f"layer{index}.bias": np.array(bias)}
    by_name = {name: [round(float(c), 5) for c in z] for name, z in zip(RADII, latents, strict=True)}
    told = {"format": "vertigrad.sdf", "version": "1", "activation": "silu", "shapes": ",".join(RADII)}
    told |= {"latents": json.dumps(by_name), "error": f"{error:.4f}", "seed": str(given.seed)}
    save_file(tensors, given.out, told)


if __name__ == "__main__":
    main()
