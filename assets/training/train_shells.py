"""Train the network of the scene `shells`: a decoder from four numbers to the points of a seashell.

    python assets/training/train_shells.py [--seed 7] [--steps 15000] [--out FILE]

Needs JAX, optax and onnx; some minutes on two cores. Prints the loss, writes `assets/weights/shells.onnx`: `z` (1, 4)
in, `points` (n, 3), `growth` (n,) from 0 at the tip to 1 at the mouth, and `ribs` (n,) out; `surface` and `normal`
(rows, columns, 3) and `shade` (rows, columns) are the same points as a closed grid.

The shells are made here, by Raup's rule (Raup 1966, "Geometric Analysis of Shell Coiling: General Problems", Journal of
Paleontology 40): a closed curve that turns around an axis while it grows by the same factor W with every whorl, moves
away from the axis (D) and along it (T), with ribs. They are scaled to the same size. Seven numbers, drawn at random,
make a shell.

What is learned. A variational autoencoder (Kingma and Welling 2014): the encoder sees the seven numbers and gives four,
the decoder is a network of the place on the shell (u along the whorls, v around the curve, both as sines) and of
the four, trained on the squared distance of each point. The four are held to a normal distribution, so that all of
[-2, 2]⁴ means something; they are sorted by how much they change, so that the first slider does most.
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
LATENT, WIDTH, ALONG, ROUND = 4, 96, 10, 3
WHORLS = 5.0
BATCH, POINTS = 48, 192
DRAWN = 24_000


def shell(numbers: jax.Array, u: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    """(points (n, 3), ribs (n,)) of the shell that seven numbers in [0, 1] describe, at places u and v in [0, 1]."""
    w, d, t, aspect, tilt, rib, count = numbers
    growth = 1.35 + 1.5 * w**2
    distance, translation = 0.05 + 0.55 * d, 2.6 * t**1.5
    turn = 2 * jnp.pi * WHORLS * (u - 1)
    r = growth ** (turn / (2 * jnp.pi))
    ribs = jnp.cos((10 + 14 * count) * turn)
    swell = 1 + 0.09 * rib * ribs
    angle = 2 * jnp.pi * v
    outward, up = jnp.cos(angle) * (0.45 + 0.25 * aspect) * swell, jnp.sin(angle) * (0.75 - 0.3 * aspect) * swell
    lean = 0.7 * (tilt - 0.5)
    outward, up = outward * jnp.cos(lean) - up * jnp.sin(lean), outward * jnp.sin(lean) + up * jnp.cos(lean)
    away = r * (distance + 0.5 + outward)
    points = jnp.stack([away * jnp.cos(turn), r * (up - translation) + translation * 0.55, away * jnp.sin(turn)], -1)
    return points / (1.05 + 0.35 * translation + 0.5 * distance), ribs * rib


def features(u: jax.Array, v: jax.Array) -> jax.Array:
    """Sines and cosines: quarter turns along the whorls and their multiples, and whole turns around the curve."""
    along = 2 * jnp.pi * WHORLS * u[:, None] * jnp.array([0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
    around = 2 * jnp.pi * v[:, None] * jnp.arange(1.0, ROUND + 1)
    return jnp.concatenate([u[:, None], jnp.sin(along), jnp.cos(along), jnp.sin(around), jnp.cos(around)], -1)


def start(random: np.random.Generator) -> dict[str, np.ndarray]:
    seen = 1 + 2 * ALONG + 2 * ROUND
    sizes = {"e0": (7, 64), "e1": (64, 64), "e2": (64, 2 * LATENT), "f": (seen, WIDTH), "z": (LATENT, WIDTH)}
    sizes |= {"d1": (WIDTH, WIDTH), "z1": (LATENT, WIDTH), "d2": (WIDTH, WIDTH), "d3": (WIDTH, 4)}
    net = {name: (random.normal(size=s) * np.sqrt(1.5 / s[0])).astype("f4") for name, s in sizes.items()}
    return net | {f"{name}_b": np.zeros(s[1], "f4") for name, s in sizes.items() if not name.startswith("z")}


def encode(net: dict, numbers: jax.Array) -> tuple[jax.Array, jax.Array]:
    x = jax.nn.silu((2 * numbers - 1) @ net["e0"] + net["e0_b"])
    x = jax.nn.silu(x @ net["e1"] + net["e1_b"]) @ net["e2"] + net["e2_b"]
    return x[..., :LATENT], x[..., LATENT:] - 3.0


def decode(net: dict, seen: jax.Array, z: jax.Array) -> jax.Array:
    """(points, 4) of one shell: places, and ribs."""
    x = jax.nn.silu(seen @ net["f"] + z @ net["z"] + net["f_b"])
    x = jax.nn.silu(x @ net["d1"] + z @ net["z1"] + net["d1_b"])
    x = jax.nn.silu(x @ net["d2"] + net["d2_b"])
    return x @ net["d3"] + net["d3_b"]


def train(given: argparse.Namespace) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The network, and the order and scale of its latent numbers."""
    random = np.random.default_rng(given.seed)
    net = start(random)
    rate = optax.warmup_cosine_decay_schedule(0.0, 3e-3, 500, given.steps, 1e-5)
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
    state = optimiser.init(net)

    def loss_of(net, key, numbers, u, v):  # type: ignore[no-untyped-def]
        mean, spread = encode(net, numbers)
        z = mean + jnp.exp(0.5 * spread) * jax.random.normal(key, mean.shape)
        points, ribs = jax.vmap(shell)(numbers, u, v)
        found = jax.vmap(lambda u, v, z: decode(net, features(u, v), z))(u, v, z)
        apart = jnp.mean(jnp.sum((found[..., :3] - points) ** 2, -1)) + 0.02 * jnp.mean((found[..., 3] - ribs) ** 2)
        surprise = 0.5 * jnp.mean(jnp.sum(mean**2 + jnp.exp(spread) - spread - 1, -1))
        return apart + 2e-4 * surprise, apart

    @jax.jit
    def learn(net, state, key, numbers, u, v):  # type: ignore[no-untyped-def]
        (_, apart), slope = jax.value_and_grad(loss_of, has_aux=True)(net, key, numbers, u, v)
        change, state = optimiser.update(slope, state)
        return optax.apply_updates(net, change), state, apart

    key, begin, losses = jax.random.PRNGKey(given.seed), time.time(), []
    for number in range(given.steps):
        key, one = jax.random.split(key)
        numbers = random.uniform(size=(BATCH, 7)).astype("f4")
        u = random.uniform(size=(BATCH, POINTS)).astype("f4") ** 0.6
        v = random.uniform(size=(BATCH, POINTS)).astype("f4")
        net, state, apart = learn(net, state, one, numbers, u, v)
        losses.append(float(apart)) if number % 10 == 0 else None
        if number % 1000 == 999:
            passed = time.time() - begin
            print(f"{number + 1} steps, squared distance {np.mean(losses[-100:]):.5f}, {passed:.0f} s", flush=True)
    mean, _ = encode(net, random.uniform(size=(4096, 7)).astype("f4"))
    scale = np.std(np.asarray(mean), axis=0)
    return {name: np.asarray(array) for name, array in net.items()}, scale


def exported(net: dict[str, np.ndarray], scale: np.ndarray) -> onnx.ModelProto:
    """Latent numbers that move much come first; points lie evenly along and around the shell."""
    order = np.argsort(-scale)
    rows = int(np.sqrt(DRAWN * 6))
    columns = DRAWN // rows
    i = np.arange(rows * columns)
    u = ((i // columns + 0.5) / rows) ** 0.6
    v = ((i % columns) + 0.5 * ((i // columns) % 2)) / columns
    places = np.stack([u, v], 1).astype("f4")
    along = 2 * np.pi * WHORLS * np.array([0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0])
    around = 2 * np.pi * np.arange(1.0, ROUND + 1)
    waves = np.zeros((2, ALONG + ROUND), "f4")
    waves[0, :ALONG], waves[1, ALONG:] = along, around
    turned = np.concatenate([[0], 1 + np.arange(ALONG), 1 + 2 * ALONG + np.arange(ROUND),
                             1 + ALONG + np.arange(ALONG), 1 + 2 * ALONG + ROUND + np.arange(ROUND)])  # fmt: skip
    constants = {
        "places": places,
        "waves": waves,
        "u": places[:, :1].copy(),
        "f": net["f"][turned],
        "z0": net["z"][order],
        "z1": net["z1"][order],
        **{name: net[name] for name in ("f_b", "d1", "d1_b", "d2", "d2_b", "d3", "d3_b")},
        **{name: np.array(value) for name, value in {"i0": [0], "i3": [3], "i4": [4], "axis": [1]}.items()},
    }
    node = helper.make_node
    nodes = [
        node("MatMul", ["places", "waves"], ["angles"]),
        node("Sin", ["angles"], ["sines"]),
        node("Cos", ["angles"], ["cosines"]),
        node("Concat", ["u", "sines", "cosines"], ["seen"], axis=1),
        node("MatMul", ["seen", "f"], ["a0"]),
        node("MatMul", ["z", "z0"], ["s0"]),
        node("Add", ["a0", "f_b"], ["b0"]),
        node("Add", ["b0", "s0"], ["c0"]),
        *silu("c0", "x0"),
        node("MatMul", ["x0", "d1"], ["a1"]),
        node("MatMul", ["z", "z1"], ["s1"]),
        node("Add", ["s1", "d1_b"], ["t1"]),
        node("Add", ["a1", "t1"], ["c1"]),
        *silu("c1", "x1"),
        node("MatMul", ["x1", "d2"], ["a2"]),
        node("Add", ["a2", "d2_b"], ["c2"]),
        *silu("c2", "x2"),
        node("MatMul", ["x2", "d3"], ["a3"]),
        node("Add", ["a3", "d3_b"], ["found"]),
        node("Slice", ["found", "i0", "i3", "axis"], ["points"]),
        node("Slice", ["found", "i3", "i4", "axis"], ["rib"]),
        node("Squeeze", ["rib", "axis"], ["ribs"]),
        node("Squeeze", ["u", "axis"], ["growth"]),
    ]
    entry, n = helper.make_tensor_value_info, len(places)
    graph = helper.make_graph(
        nodes,
        "shells",
        [entry("z", TensorProto.FLOAT, [1, LATENT])],
        [entry("points", 1, [n, 3]), entry("growth", 1, [n]), entry("ribs", 1, [n])],
        [numpy_helper.from_array(np.ascontiguousarray(array), name) for name, array in constants.items()],
    )
    return with_surface(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), rows)


def with_surface(made: onnx.ModelProto, rows: int) -> onnx.ModelProto:
    """Outputs that draw the points as a surface: a grid that closes around the shell, and the cross product of its
    differences along both axes as normals."""
    graph, node = made.graph, helper.make_node
    columns = graph.output[0].type.tensor_type.shape.dim[0].dim_value // rows
    constants = {
        "grid": np.array([rows, columns, 3]),
        "plane": np.array([rows, columns]),
        **{f"n{value}": np.array([value]) for value in range(4)},
        "nm1": np.array([-1]),
        "nend": np.array([1 << 30]),
        "least": np.float32(1e-20),
    }
    graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items())

    def part(x: str, begin: str, end: str, axis: str, out: str) -> onnx.NodeProto:
        return node("Slice", [x, begin, end, axis], [out])

    def shifted(x: str, axis: int, out: str, wraps: bool) -> list[onnx.NodeProto]:
        """The next minus the one before; at an end that does not wrap, the end itself stands in."""
        where = f"n{axis}"
        first, last = (part(x, "n0", "n1", where, f"{out}_f"), part(x, "nm1", "nend", where, f"{out}_l"))
        rest, most = (part(x, "n1", "nend", where, f"{out}_r"), part(x, "n0", "nm1", where, f"{out}_m"))
        ends = (f"{out}_f", f"{out}_l") if wraps else (f"{out}_l", f"{out}_f")
        return [
            *(first, last, rest, most),
            node("Concat", [f"{out}_r", ends[0]], [f"{out}_n"], axis=axis),
            node("Concat", [ends[1], f"{out}_m"], [f"{out}_p"], axis=axis),
            node("Sub", [f"{out}_n", f"{out}_p"], [out]),
        ]

    def turned(x: str, out: str, by: str) -> list[onnx.NodeProto]:
        """Coordinates moved on: (y, z, x) or (z, x, y)."""
        return [
            part(x, by, "n3", "n2", f"{out}_a"),
            part(x, "n0", by, "n2", f"{out}_b"),
            node("Concat", [f"{out}_a", f"{out}_b"], [out], axis=2),
        ]

    def closed(x: str, out: str) -> list[onnx.NodeProto]:
        return [part(x, "n0", "n1", "n1", f"{out}_c"), node("Concat", [x, f"{out}_c"], [out], axis=1)]

    graph.node.extend(
        [
            node("Reshape", ["points", "grid"], ["p"]),
            *shifted("p", 0, "south", wraps=False),
            *shifted("p", 1, "east", wraps=True),
            *turned("south", "so1", "n1"),
            *turned("south", "so2", "n2"),
            *turned("east", "ea1", "n1"),
            *turned("east", "ea2", "n2"),
            node("Mul", ["ea1", "so2"], ["plus"]),
            node("Mul", ["ea2", "so1"], ["minus"]),
            node("Sub", ["plus", "minus"], ["across"]),
            node("ReduceL2", ["across"], ["length0"], axes=[2], keepdims=1),
            node("Max", ["length0", "least"], ["length"]),
            node("Div", ["across", "length"], ["unit"]),
            *closed("p", "surface"),
            *closed("unit", "normal"),
            node("Reshape", ["growth", "plane"], ["shade0"]),
            *closed("shade0", "shade"),
        ]
    )
    entry = helper.make_tensor_value_info
    graph.output.extend(entry(name, 1, [rows, columns + 1, 3]) for name in ("surface", "normal"))
    graph.output.append(entry("shade", 1, [rows, columns + 1]))
    onnx.checker.check_model(made, full_check=True)
    return made


def silu(x: str, out: str) -> list[onnx.NodeProto]:
    return [helper.make_node("Sigmoid", [x], [f"{out}_s"]), helper.make_node("Mul", [x, f"{out}_s"], [out])]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps", type=int, default=15_000)
    parser.add_argument("--out", type=Path, default=ASSETS / "weights" / "shells.onnx")
    given = parser.parse_args()
    onnx.save(exported(*train(given)), given.out)


if __name__ == "__main__":
    main()
