"""Train the network of the scene `depth`: from one picture, taken from above, how high everything in it is.

    python assets/training/train_depth.py [--seed 5] [--pictures 500] [--steps 10000] [--out FILE]

Needs JAX, optax, onnx and onnxruntime. Prints the loss, writes `assets/weights/depth.onnx`; some twenty minutes on
two cores, a quarter of it to make the pictures.

What is learned. The pictures are of the kind of the clip's (`make_clip.py`), but of other worlds: places, sizes,
colors, sun and floor are drawn at random, and none is a picture of the clip. What a network can go by is what an eye
can: shadows, shading, the sides that perspective shows. The loss is the mean of |ours − height|, what is above the
floor counting four times, and half of that of the differences between neighbours, which keeps edges sharp.

The network is a U-Net of three levels (Ronneberger et al. 2015) with leaky ReLU and 3×3 convolutions, of which those at
the bottom are dilated by 1, 2 and 4; upwards go transposed convolutions 2×2. In the file: `picture` (1, 3, rows,
columns), 0 to 1 as a screen shows it; `height` (1, 1, rows, columns), in units of which the floor shows 8. Rows and
columns can be any multiples of 8; it was trained for 144 and 256.
"""

from __future__ import annotations

import argparse
import time
from multiprocessing import Pool
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import optax
from make_clip import COLUMNS, ROWS, Ball, Block, World, picture, spin
from onnx import helper, numpy_helper

ASSETS = Path(__file__).resolve().parent.parent
WIDTHS = (8, 16, 24, 32)  # channels at full, half, quarter and eighth size
DILATIONS = (1, 2, 4)
CROP = 96, 128
BATCH = 8
LEAK = 0.1  # slope below 0; with 0, networks of this size often end as flat ground

Weights = dict[str, tuple[np.ndarray, np.ndarray]]


def world(random: np.random.Generator) -> World:
    """Balls and blocks at random, none inside of another."""
    balls, blocks, taken = [], [], []
    for _ in range(random.integers(4, 16)):
        place = random.uniform((-4.2, -2.5), (4.2, 2.5))
        size = random.uniform(0.2, 0.55)
        if any(np.hypot(*(place - other)) < 1.05 * (size + far) for other, far in taken):
            continue
        taken.append((place, size))
        if random.random() < 0.6:
            turned = spin(0, random.uniform(0, 6.3)) @ spin(1, random.uniform(0, 6.3))
            balls.append(Ball(tuple(place), size, (paint(random), paint(random)), turned))
        else:
            lean = random.uniform(0.4, 1.1)
            half = size * np.sin(lean), size * np.cos(lean)
            blocks.append(Block(tuple(place), half, random.uniform(0.15, 1.3), random.uniform(0, 6.3), paint(random)))
    sun = np.array([*random.normal(size=2), 0.0])
    sun /= np.linalg.norm(sun)
    sun = np.cos(height := random.uniform(0.55, 1.0)) * sun + np.array([0.0, 0.0, np.sin(height)])
    base = paint(random, 0.25)
    floor = base, np.clip(base * random.uniform(0.4, 1.0) + random.normal(size=3) * 0.03, 0.02, 0.95)
    return World(balls, blocks, floor, random.uniform(0.3, 0.9), random.uniform(0, 1.6), sun, random.uniform(-1, 1))


def paint(random: np.random.Generator, saturation: float = 1.0) -> np.ndarray:
    grey = random.uniform(0.05, 0.9)
    return np.clip(grey + saturation * random.uniform(-0.5, 0.5, 3), 0.02, 0.95)


def shot(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A picture as a video keeps it, its color at half the size, and its heights."""
    seen, height = picture(world(np.random.default_rng(seed)))
    grey = seen.mean(-1, keepdims=True)
    tint = (seen - grey).reshape(ROWS // 2, 2, COLUMNS // 2, 2, 3).mean((1, 3)).repeat(2, 0).repeat(2, 1)
    return np.uint8(np.clip(grey + tint, 0, 255)), np.float16(height)


def batch(shots: tuple[np.ndarray, np.ndarray], random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of pictures, (n, rows, columns, 3) and (n, rows, columns, 1), turned and flipped."""
    ours, theirs = [], []
    for pick in random.integers(0, len(shots[0]), BATCH):
        top, left = random.integers(0, ROWS - CROP[0] + 1), random.integers(0, COLUMNS - CROP[1] + 1)
        part = np.s_[pick, top : top + CROP[0], left : left + CROP[1]]
        flip = np.s_[:: random.choice([-1, 1]), :: random.choice([-1, 1])]
        seen = shots[0][part][flip].astype("f4") / 255
        seen = seen[..., random.permutation(3)] * random.uniform(0.85, 1.1) + 0.015 * random.standard_normal(
            seen.shape, "f4"
        )
        ours.append(np.clip(seen, 0, 1))
        theirs.append(shots[1][part][flip].astype("f4")[..., None])
    return np.stack(ours).astype("f4"), np.stack(theirs)


def start(random: np.random.Generator) -> Weights:
    """He's initial weights: convolutions (out, in, 3, 3), transposed ones (in, out, 2, 2)."""
    full, half, quarter, eighth = WIDTHS
    shapes = {"full": (full, 3, 3, 3), "half_down": (half, full, 3, 3), "half": (half, half, 3, 3)}
    shapes |= {"quarter_down": (quarter, half, 3, 3), "quarter": (quarter, quarter, 3, 3)}
    shapes |= {"eighth_down": (eighth, quarter, 3, 3)}
    shapes |= {f"eighth{n}": (eighth, eighth, 3, 3) for n in range(len(DILATIONS))}
    for below, here, name in ((eighth, quarter, "quarter"), (quarter, half, "half"), (half, full, "full")):
        shapes |= {f"{name}_up": (below, here, 2, 2), f"{name}_joined": (here, 2 * here, 3, 3)}
    shapes |= {"height": (1, full, 3, 3)}
    weights = {}
    for name, shape in shapes.items():
        fan = shape[0] if name.endswith("_up") else np.prod(shape[1:])
        weights[name] = (
            (random.normal(size=shape) * np.sqrt(2 / fan)).astype("f4"),
            np.zeros(shape[1 if name.endswith("_up") else 0], "f4"),
        )
    return weights


class Jax:
    """The network's layers, as JAX calculates them, on (n, rows, columns, channels)."""

    def __init__(self, weights: Weights):
        self.weights = weights

    def conv(self, x: jax.Array, name: str, stride: int = 1, dilation: int = 1, bend: bool = True) -> jax.Array:
        weight, bias = self.weights[name]
        around = [(dilation, dilation)] * 2
        x = jax.lax.conv_general_dilated(
            x, weight.transpose(2, 3, 1, 0), (stride,) * 2, around, rhs_dilation=(dilation,) * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        ) + bias  # fmt: skip
        return jax.nn.leaky_relu(x, LEAK) if bend else x

    def up(self, x: jax.Array, name: str) -> jax.Array:
        weight, bias = self.weights[name]
        n, rows, columns, _ = x.shape
        x = jnp.einsum("nrci,iojk->nrjcko", x, weight)
        return jax.nn.leaky_relu(x.reshape(n, 2 * rows, 2 * columns, -1) + bias, LEAK)

    def join(self, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.concatenate([x, y], -1)


class Onnx:
    """The same layers as nodes of a graph; a value is its name."""

    def __init__(self, weights: Weights):
        self.nodes, self.constants, self.weights = [], [], weights

    def conv(self, x: str, name: str, stride: int = 1, dilation: int = 1, bend: bool = True) -> str:
        d = dilation
        shape = {"strides": [stride] * 2, "dilations": [d] * 2, "kernel_shape": [3, 3], "pads": [d] * 4}
        return self._node("Conv", [x, *self._held(name)], name, bend, **shape)

    def up(self, x: str, name: str) -> str:
        return self._node("ConvTranspose", [x, *self._held(name)], name, True, strides=[2, 2], kernel_shape=[2, 2])

    def join(self, x: str, y: str) -> str:
        self.nodes.append(helper.make_node("Concat", [x, y], [f"{x}_and_{y}"], axis=1))
        return f"{x}_and_{y}"

    def _held(self, name: str) -> list[str]:
        for kind, array in zip(("weight", "bias"), self.weights[name], strict=True):
            self.constants.append(numpy_helper.from_array(np.asarray(array), f"{name}.{kind}"))
        return [f"{name}.weight", f"{name}.bias"]

    def _node(self, kind: str, inputs: list[str], name: str, bend: bool, **attributes) -> str:  # type: ignore[no-untyped-def]
        self.nodes.append(helper.make_node(kind, inputs, [f"{name}_sum" if bend else name], name, **attributes))
        if bend:
            self.nodes.append(helper.make_node("LeakyRelu", [f"{name}_sum"], [name], alpha=LEAK))
        return name


def network(layers, x):  # type: ignore[no-untyped-def]
    """Heights from pictures: `layers` says how, by `Jax` or `Onnx`."""
    full = layers.conv(x, "full")
    half = layers.conv(layers.conv(full, "half_down", stride=2), "half")
    quarter = layers.conv(layers.conv(half, "quarter_down", stride=2), "quarter")
    x = layers.conv(quarter, "eighth_down", stride=2)
    for number, dilation in enumerate(DILATIONS):
        x = layers.conv(x, f"eighth{number}", dilation=dilation)
    for beside, name in ((quarter, "quarter"), (half, "half"), (full, "full")):
        x = layers.conv(layers.join(layers.up(x, f"{name}_up"), beside), f"{name}_joined")
    return layers.conv(x, "height", bend=False)


def export(weights: Weights, out: Path, told: dict[str, str]) -> None:
    """Write the file. Raises `AssertionError` if onnxruntime calculates anything else than JAX."""
    layers = Onnx(weights)
    network(layers, "picture")
    entry = helper.make_tensor_value_info
    graph = helper.make_graph(
        layers.nodes,
        "depth",
        [entry("picture", 1, [1, 3, "rows", "columns"])],
        [entry("height", 1, [1, 1, "rows", "columns"])],
        layers.constants,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, producer_name="vertigrad"
    )
    helper.set_model_props(model, told)
    onnx.checker.check_model(model, full_check=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, out)
    x = np.random.default_rng(0).random((1, ROWS, COLUMNS, 3), "f4")
    theirs = onnxruntime.InferenceSession(out).run(None, {"picture": x.transpose(0, 3, 1, 2)})[0]
    ours = np.asarray(network(Jax(weights), x)).transpose(0, 3, 1, 2)
    assert np.abs(ours - theirs).max() < 1e-4 * np.abs(theirs).max(), "the file is another network than the trained one"


def distance(weights: Weights, x: jax.Array, height: jax.Array) -> jax.Array:
    wrong = network(Jax(weights), x) - height
    edges = jnp.abs(jnp.diff(wrong, axis=1)).mean() + jnp.abs(jnp.diff(wrong, axis=2)).mean()
    return (jnp.abs(wrong) * (1 + 3 * (height > 0.01))).mean() + 0.5 * edges


def rates(steps: int) -> optax.Schedule:
    """Twice from fast to slow: the second time finds a better place."""
    first = 2 * steps // 5
    fall = optax.warmup_cosine_decay_schedule
    again = fall(0.0, 2e-3, 200, steps - first, 1e-5)
    return optax.join_schedules([fall(0.0, 2e-3, 200, first, 1e-5), again], [first])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=ASSETS / "weights" / "depth.onnx")
    given = parser.parse_args()
    begin = time.time()
    with Pool(2) as pool:
        made = pool.map(shot, range(given.seed << 20, (given.seed << 20) + given.pictures), chunksize=8)
    shots = np.stack([seen for seen, _ in made]), np.stack([height for _, height in made])
    print(f"{given.pictures} pictures, {time.time() - begin:.0f} s", flush=True)
    random = np.random.default_rng(given.seed)
    weights = start(random)
    optimiser = optax.adam(rates(given.steps))
    state = optimiser.init(weights)

    @jax.jit
    def step(weights, state, x, height):  # type: ignore[no-untyped-def]
        loss, slope = jax.value_and_grad(distance)(weights, x, height)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(weights, change), state, loss

    losses = []
    for number in range(given.steps):
        weights, state, loss = step(weights, state, *batch(shots, random))
        losses.append(float(loss))
        if number % 200 == 199:
            print(f"{number + 1} steps, loss {np.mean(losses[-200:]):.4f}, {time.time() - begin:.0f} s", flush=True)
        if number % 1000 == 999 or number == given.steps - 1:
            told = {"loss": f"{np.mean(losses[-200:]):.4f}", "seed": str(given.seed), "steps": str(number + 1)}
            export({name: (np.array(w), np.array(b)) for name, (w, b) in weights.items()}, given.out, told)


if __name__ == "__main__":
    main()
