"""Train the network of the scene `automaton`: cells that grow a flower from a single one, and mend it.

    python assets/training/train_automaton.py [--seed 7] [--steps 8000] [--picture FILE.png] [--out FILE]

Needs JAX, optax and onnx (and pillow for --picture); on a GPU some minutes. Prints the loss, writes
`assets/weights/automaton.onnx`: `state` (1, 16, rows, columns) in, the state after one step and its picture out.

What is learned (Mordvintsev et al. 2020, "Growing Neural Cellular Automata"). Each cell has 16 numbers: red, green,
blue, alpha, height, and 11 of its own. In a step it sees them and their gradients (Sobel filters), a small network
gives a change, and cells without a living neighbour (alpha > 0.1) die. All cells step together; where the article
lets each cell skip steps at random, a change here is halved. Samples come from a pool of earlier states, the worst is
replaced by the seed, and some are damaged: so the flower is grown, kept, and mended. The flower is drawn here; no
data is needed.

Outputs of the network: `next` (1, 16, rows, columns); `picture` (1, 3, rows, columns) over white, in [0, 1]; `height`
(rows, columns), 0 where nothing lives.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import optax
from onnx import TensorProto, helper, numpy_helper

ASSETS = Path(__file__).resolve().parent.parent
SIDE, CHANNELS, HIDDEN, SHOWN = 72, 16, 96, 5
POOL, BATCH, DAMAGED = 512, 16, 4
ALIVE = 0.1


def flower() -> np.ndarray:
    """(SIDE, SIDE, 5): red, green, blue times alpha, alpha, height."""
    axis = (np.arange(SIDE) + 0.5) / SIDE * 2 - 1
    y, x = np.meshgrid(axis, axis, indexing="ij")
    r, theta = np.hypot(x, y), np.arctan2(y, x)
    picture = np.zeros((SIDE, SIDE, 5))

    def paint(alpha: np.ndarray, color: np.ndarray, height: np.ndarray) -> None:
        alpha = np.clip(alpha, 0, 1)[..., None]
        layer = np.concatenate([color * alpha, alpha, height[..., None] * alpha], -1)
        picture[:] = picture * (1 - alpha) + layer

    for turn in (0.5, 2.6, 4.7):  # leaves
        along = r * np.cos(theta - turn) - 0.42
        across = r * np.sin(theta - turn)
        inside = (0.36**2 - (along**2 + (across * 2.6) ** 2)) / 0.02
        vein = 0.25 * np.exp(-((across * 28) ** 2))
        green = np.stack([0.16 + vein, 0.45 + vein, 0.2 + 0.6 * vein], -1)
        paint(inside, green, 0.12 + 0.1 * np.clip(1 - across**2 * 60, 0, 1))
    for offset, size, lift in ((0.0, 0.66, 0.25), (np.pi / 6, 0.48, 0.5)):  # two rings of petals
        edge = size * (0.45 + 0.55 * np.abs(np.cos(3 * (theta + offset))) ** 0.7)
        share = np.clip(r / edge, 0, 1)
        crease = 0.12 * np.abs(np.cos(3 * (theta + offset))) ** 12
        warm = np.array([1.0, 0.72, 0.3]) * (1 - share[..., None]) + np.array([0.86, 0.16, 0.42]) * share[..., None]
        paint((edge - r) / 0.035, np.clip(warm - crease[..., None], 0, 1), lift + 0.4 * share**2)
    paint((0.15 - r) / 0.03, np.broadcast_to([0.98, 0.82, 0.22], (*r.shape, 3)), 0.75 - 5 * r**2)
    return picture.astype("f4")


def kernels() -> np.ndarray:
    """(3 · CHANNELS, 1, 3, 3): each number itself, and its slopes along both axes."""
    sobel = np.outer([1, 2, 1], [-1, 0, 1]) / 8.0
    middle = np.zeros((3, 3))
    middle[1, 1] = 1.0
    return np.tile(np.stack([middle, sobel, sobel.T])[:, None], (CHANNELS, 1, 1, 1)).astype("f4")


def start(random: np.random.Generator) -> dict[str, np.ndarray]:
    seen = 3 * CHANNELS
    return {
        "w1": (random.normal(size=(HIDDEN, seen, 1, 1)) / np.sqrt(seen)).astype("f4"),
        "b1": np.zeros(HIDDEN, "f4"),
        "w2": np.zeros((CHANNELS, HIDDEN, 1, 1), "f4"),
    }


def sight(x: jax.Array) -> jax.Array:
    """What `kernels` give, by shifts."""
    p = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    across = p[..., 2:] - p[..., :-2]
    along = p[:, :, 2:] - p[:, :, :-2]
    dx = (across[:, :, :-2] + 2 * across[:, :, 1:-1] + across[:, :, 2:]) / 8.0
    dy = (along[..., :-2] + 2 * along[..., 1:-1] + along[..., 2:]) / 8.0
    return jnp.stack([x, dx, dy], 2).reshape(len(x), 3 * CHANNELS, SIDE, SIDE)


def mixed(x: jax.Array, weights: jax.Array) -> jax.Array:
    return jnp.einsum("oi,bihw->bohw", weights[:, :, 0, 0], x, precision="highest")


def living(x: jax.Array) -> jax.Array:
    largest = jax.lax.reduce_window(x[:, 3:4], -jnp.inf, jax.lax.max, (1, 1, 3, 3), (1, 1, 1, 1), "SAME")
    return largest > ALIVE


def step(net: dict, x: jax.Array) -> jax.Array:
    before = living(x)
    hidden = jax.nn.relu(mixed(sight(x), net["w1"]) + net["b1"][:, None, None])
    x = x + 0.5 * mixed(hidden, net["w2"])
    return x * (before & living(x))


def seed(count: int) -> np.ndarray:
    state = np.zeros((count, CHANNELS, SIDE, SIDE), "f4")
    state[:, :, SIDE // 2, SIDE // 2] = 1.0
    return state


def damage(states: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A disc taken out of each."""
    axis = np.arange(SIDE) / SIDE * 2 - 1
    centre, radius = random.uniform(-0.5, 0.5, (len(states), 2)), random.uniform(0.1, 0.4, len(states))
    away = (axis[None, :, None] - centre[:, 0, None, None]) ** 2 + (axis[None, None] - centre[:, 1, None, None]) ** 2
    return states * (away > radius[:, None, None] ** 2)[:, None]


def train(given: argparse.Namespace) -> dict[str, np.ndarray]:
    random = np.random.default_rng(given.seed)
    target = jnp.asarray(np.moveaxis(flower(), -1, 0))
    net = start(random)
    rate = optax.piecewise_constant_schedule(2e-3, {int(0.4 * given.steps): 0.3, int(0.8 * given.steps): 0.3})
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
    state = optimiser.init(net)

    def loss_of(net, x, turns):  # type: ignore[no-untyped-def]
        def turn(x, number):  # type: ignore[no-untyped-def]
            return jnp.where(number < turns, step(net, x), x), None

        x, _ = jax.lax.scan(jax.checkpoint(turn), x, jnp.arange(96))
        apart = jnp.mean((x[:, :SHOWN] - target) ** 2, axis=(1, 2, 3))
        return jnp.mean(apart) + 1e-3 * jnp.mean(jnp.maximum(jnp.abs(x) - 2.0, 0.0)), (x, apart)

    @jax.jit
    def learn(net, state, x, turns):  # type: ignore[no-untyped-def]
        (loss, (x, apart)), slope = jax.value_and_grad(loss_of, has_aux=True)(net, x, turns)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(net, change), state, loss, x, apart

    pool, begin = seed(POOL), time.time()
    apart_of = np.full(POOL, 1.0)
    for number in range(given.steps):
        picked = random.choice(POOL, BATCH, replace=False)
        picked = picked[np.argsort(-apart_of[picked])]
        x = pool[picked]
        x[:1] = seed(1)
        if number > 0.2 * given.steps:
            x[-DAMAGED:] = damage(x[-DAMAGED:], random)
        net, state, loss, x, apart = learn(net, state, x, random.integers(64, 97))
        pool[picked], apart_of[picked] = np.asarray(x), np.asarray(apart)
        if number % 250 == 0 or number == given.steps - 1:
            print(f"{number} steps, loss {float(loss):.5f}, {time.time() - begin:.0f} s", flush=True)
    return {name: np.asarray(array) for name, array in net.items()}


def exported(net: dict[str, np.ndarray]) -> onnx.ModelProto:
    node, entry = helper.make_node, helper.make_tensor_value_info
    constants = {
        "sight": kernels(),
        **net,
        "half": np.float32(0.5),
        "threshold": np.float32(ALIVE),
        "one": np.float32(1.0),
        **{name: np.array(value) for name, value in {"c0": [0], "c3": [3], "c4": [4], "c5": [5], "axis": [1]}.items()},
        "front": np.array([0, 1]),
        "zero": np.float32(0.0),
    }

    def alive(x: str, out: str) -> list[onnx.NodeProto]:
        return [
            node("Slice", [x, "c3", "c4", "axis"], [f"{out}_a"]),
            node("MaxPool", [f"{out}_a"], [f"{out}_m"], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[1, 1]),
            node("Greater", [f"{out}_m", "threshold"], [out]),
        ]

    nodes = [
        node("Conv", ["state", "sight"], ["seen"], group=CHANNELS, kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Conv", ["seen", "w1", "b1"], ["h"], kernel_shape=[1, 1]),
        node("Relu", ["h"], ["hidden"]),
        node("Conv", ["hidden", "w2"], ["change"], kernel_shape=[1, 1]),
        node("Mul", ["change", "half"], ["halved"]),
        node("Add", ["state", "halved"], ["grown"]),
        *alive("state", "before"),
        *alive("grown", "after"),
        node("And", ["before", "after"], ["lives"]),
        node("Cast", ["lives"], ["mask"], to=TensorProto.FLOAT),
        node("Mul", ["grown", "mask"], ["next"]),
        node("Slice", ["next", "c0", "c3", "axis"], ["rgb"]),
        node("Slice", ["next", "c3", "c4", "axis"], ["alpha"]),
        node("Clip", ["alpha", "zero", "one"], ["opaque"]),
        node("Sub", ["one", "opaque"], ["clear"]),
        node("Add", ["rgb", "clear"], ["over"]),
        node("Clip", ["over", "zero", "one"], ["picture"]),
        node("Slice", ["next", "c4", "c5", "axis"], ["high"]),
        node("Squeeze", ["high", "front"], ["height"]),
    ]
    rows = ["rows", "columns"]
    graph = helper.make_graph(
        nodes,
        "automaton",
        [entry("state", 1, [1, CHANNELS, *rows])],
        [entry("next", 1, [1, CHANNELS, *rows]), entry("picture", 1, [1, 3, *rows]), entry("height", 1, rows)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=8000)
    parser.add_argument("--picture", type=Path, help="only write what is to be grown")
    parser.add_argument("--out", type=Path, default=ASSETS / "weights" / "automaton.onnx")
    given = parser.parse_args()
    if given.picture:
        from PIL import Image

        image = flower()
        rgb = image[..., :3] + 1 - image[..., 3:4]
        tall = np.repeat(image[..., 4:5], 3, -1)
        both = np.hstack([rgb, tall]).clip(0, 1) * 255
        Image.fromarray(both.astype("u1")).resize((16 * SIDE, 8 * SIDE)).save(given.picture)
        return
    onnx.save(exported(train(given)), given.out)


if __name__ == "__main__":
    main()
