"""Tokens per second of a transformer of 1.2 B parameters (the sizes of Llama 3.2 1B) with seeded random weights.

Ours with weights of f16 and int4 next to PyTorch in f16 (compiled and not, from a CUDA graph) and next to what the
memory allows: the bytes of the weights by the bandwidth of a copy. `python -m tests.bench.language_models` prints a
table; `--sweep` measures the shapes of matvec.wgsl, `--kernels` the time of each kernel of a token.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import vertigrad
from vertigrad import Tensor
from vertigrad.gpu import Kernel, Plan
from vertigrad.language.checkpoint import LayerWeights, Weights
from vertigrad.language.config import Config
from vertigrad.language.generation import Generator
from vertigrad.language.linear import Linear, Shape
from vertigrad.language.sampling import Sampling
from vertigrad.language.transformer import Transformer

from .cuda import graphed

CONFIG = Config(
    **{"kind": "llama", "naming": "llama", "layers": 16, "width": 2048, "heads": 32, "kv_heads": 8, "head": 64},
    **{"inner": 8192, "vocabulary": 128256, "context": 4096, "epsilon": 1e-5, "activation": "silu", "tied": True},
    frequencies=tuple((500000.0 ** -(np.arange(0, 64, 2) / 64)).tolist()),
)
SMALL = replace(CONFIG, layers=2, width=256, heads=8, kv_heads=2, head=32, inner=512, vocabulary=1000)
SMALL = replace(SMALL, frequencies=CONFIG.frequencies[:16])  # type: ignore[index]
PROMPT, COUNT = 64, 256  # tokens
COPY = """
@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) num_workgroups: vec3u) {
    let i = id.y * (num_workgroups.x * 256u) + id.x;
    y[i] = x[i];
}
"""


class RandomWeights:
    """Normal f16 weights, cut at seeded positions out of a long list: a billion new ones would take a minute."""

    def __init__(self, config: Config, seed: int = 1):
        self._config, self._random = config, np.random.default_rng(seed)
        self._values = self._random.normal(size=1 << 24).astype(np.float16)

    def matrix(self, rows: int, inner: int, gain: float = 1.0) -> np.ndarray:
        start = int(self._random.integers(0, 1 << 20))
        scaled = (self._values * np.float16(gain * inner**-0.5)).astype(np.float16)
        return np.resize(scaled[start:], rows * inner).reshape(rows, inner)

    def weights(self) -> Weights:
        config, ones = self._config, np.ones(self._config.width, np.float32)
        table = self.matrix(config.vocabulary, config.width, 1.0)
        layers = [self._layer() for _ in range(config.layers)]
        return Weights(table, None, layers.__getitem__, ones, None, table)

    def _layer(self) -> LayerWeights:
        config, ones = self._config, np.ones(self._config.width, np.float32)
        return LayerWeights(
            **{"norm": ones, "norm_bias": None, "mlp_norm": ones, "mlp_norm_bias": None},
            **{"qkv": self.matrix(config.qkv, config.width), "qkv_bias": None, "query_norm": None, "key_norm": None},
            **{"out": self.matrix(config.width, config.heads * config.head), "out_bias": None},
            **{"up": self.matrix(2 * config.inner, config.width), "up_bias": None},
            **{"down": self.matrix(config.width, config.inner), "down_bias": None},
        )


@dataclass
class Row:
    """One program: milliseconds of a token, and how many a second the bandwidth allows for the bytes that it reads."""

    name: str
    ms: float
    limit: float

    def __str__(self) -> str:
        rate = 1e3 / self.ms
        return f"{self.name:46} {self.ms:8.3f} ms {rate:8.1f} tokens/s {rate / self.limit:6.2f} of {self.limit:.0f}"


# ours -------------------------------------------------------------------------------------------------------------


def seconds(run: Callable[[], object]) -> float:
    vertigrad.gpu().sync()
    start = time.perf_counter()
    run()
    vertigrad.gpu().sync()
    return time.perf_counter() - start


def bandwidth(length: int = 1 << 28) -> float:
    """Bytes a second that a copy of `length` f32 reads and writes."""
    with Tensor.zeros(length) as x, Tensor.empty(length) as y, Plan("copy") as plan:
        plan.dispatch(Kernel(COPY, "main", "copy", trusted=True), length // 4, x=x, y=y)
        plan.replay()
        return 8 * length * 20 / min(seconds(lambda: [plan.replay() for _ in range(20)]) for _ in range(3))


def ours(weights: Weights, config: Config, format: Any, rate: float) -> Iterator[Row]:
    """Rows of one format; the prompt's time is printed."""
    with Transformer(config, weights, format=format, context=1024) as model, Generator(model) as generator:
        limit = rate / model.weight_bytes
        print(f"{format}: {model.parameters:,} parameters, {model.weight_bytes:,} bytes a token", flush=True)
        prompt = np.random.default_rng(2).integers(0, config.vocabulary, PROMPT)
        for name, sampling in (("greedy", Sampling()), ("sampled, top_k 50, top_p 0.9", Sampling(1.0, 50, 0.9))):
            list(generator.generate(prompt, 16, sampling, batch=8))
            times = []
            for _ in range(3):
                begin = seconds(lambda: generator.start(prompt))
                taken = seconds(
                    lambda sampling=sampling: list(generator.generate(prompt, COUNT, sampling, batch=8, ahead=3))
                )
                times.append((taken - begin) / COUNT)
            yield Row(f"ours {format}, {name}", 1e3 * min(times), limit)
        cpu = cpu_milliseconds(model)
        replays = seconds(lambda: [model.decode(PROMPT) for _ in range(128)]) / 128
        yield Row(f"ours {format}, logits alone (CPU {cpu:.3f} ms)", 1e3 * replays, limit)
        long = np.random.default_rng(2).integers(0, config.vocabulary, 513)
        generator.start(long)
        taken = min(seconds(lambda: generator.start(long)) for _ in range(3))
        print(f"ours {format}: a prompt of 513 tokens takes {1e3 * taken:.1f} ms", flush=True)


def cpu_milliseconds(model: Transformer, count: int = 16) -> float:
    """Of the CPU, to record and submit a token."""
    gpu = vertigrad.gpu()
    gpu.sync()
    start = time.perf_counter()
    for _ in range(count):
        model.decode(PROMPT)
        gpu.submit()
    taken = time.perf_counter() - start
    gpu.sync()
    return 1e3 * taken / count


def kernels(weights: Weights, config: Config, format: Any) -> None:
    """Print the time of each kernel of a token, each in a pass of its own."""
    gpu = vertigrad.gpu()
    with Transformer(config, weights, format=format, context=1024) as model, Generator(model) as generator:
        generator.start(np.arange(PROMPT))
        gpu.sync()
        gpu.timer.enabled = gpu.timer.each_kernel = True
        for _ in range(8):
            generator.advance(Sampling())
            gpu.sync()
        gpu.poll()
        gpu.timer.enabled = gpu.timer.each_kernel = False
        spans = gpu.timer.submissions[-1].spans
        names = iter(itertools.chain(["greedy", "greedy", "embed"], *([MATRICES] * config.layers), ["head"]))
        total: dict[str, list[float]] = defaultdict(list)
        for span, name in zip(spans, names, strict=False):
            total[f"{name} ({span.kernel})"].append(1e3 * span.ms)
        print(f"{format}: {len(spans)} kernels, from begin to end {(spans[-1].end - spans[0].begin) * 1e-3:.0f} us")
        for name, us in total.items():
            print(f"  {name:28} {len(us):4} x {np.median(us):8.2f} us = {sum(us):8.1f} us", flush=True)


MATRICES = ("qkv", "attention", "out", "up", "down")


def sweep(weights: Weights, config: Config, format: Any, quick: bool) -> None:
    """Print the fastest shapes for each matrix, over all layers, so that the weights come from memory."""
    options = list(itertools.product((64, 128, 256, 512), (16, 32, 64, 128, 256), (1, 2, 4), (264, 528, 1056, 1 << 20)))
    options = options[::80] if quick else [o for o in options if o[1] <= o[0]]
    with Transformer(config, weights, format=format, context=1024) as model:
        layers = model._layers
        attended = Tensor.zeros(config.heads * config.head)
        for kind in ("qkv", "out", "up", "down", "head"):
            found = []
            for option in options:
                shape = Shape(*option)
                with Plan("sweep") as plan:
                    if kind == "head":
                        model._head.add_vector(plan, model._x, model.logits, model._norm, shape=shape)
                    for layer in layers if kind != "head" else ():
                        arguments: dict[str, tuple[Linear, Any, Any, Any]] = {
                            "qkv": (layer.qkv, model._x, model._rows, layer.norm),
                            "out": (layer.out, attended, model._x, None),
                            "up": (layer.up, model._x, model._hidden, layer.mlp_norm),
                            "down": (layer.down, model._hidden, model._x, None),
                        }
                        matrix, x, out, norm = arguments[kind]
                        matrix.add_vector(plan, x, out, norm, shape=shape)
                    plan.replay()
                    taken = min(seconds(lambda plan=plan: [plan.replay() for _ in range(8)]) / 8 for _ in range(2))
                    found.append((taken / len(plan), shape))
            nbytes = (model._head if kind == "head" else getattr(layers[0], kind)).nbytes
            found.sort()
            for taken, shape in [*found[:6], found[-1]]:
                print(f"{format} {kind:5} {1e6 * taken:8.2f} us {1e-9 * nbytes / taken:7.0f} GB/s  {shape}", flush=True)
        attended.close()


# PyTorch ----------------------------------------------------------------------------------------------------------


def torch_model(torch: Any, weights: Weights, config: Config) -> Any:
    """The same transformer with a cache of fixed size, in f16 on CUDA; called with a token and its position."""
    functional = torch.nn.functional

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            cuda = lambda array: torch.from_numpy(np.ascontiguousarray(array)).cuda()  # noqa: E731
            self.table = cuda(weights.embedding)
            self.layers = []
            for number in range(config.layers):
                layer = weights.layer(number)
                gate, up = layer.up[0::2], layer.up[1::2]
                both = np.concatenate([gate, up])
                self.layers.append(tuple(cuda(m) for m in (layer.qkv, layer.out, both, layer.down)))
            shape = config.layers, 2, 1, config.kv_heads, 1024, config.head
            self.cache = torch.zeros(shape, dtype=torch.float16, device="cuda")
            angles = torch.outer(torch.arange(1024.0), torch.tensor(config.frequencies))
            self.cos = torch.cat([angles.cos()] * 2, -1).cuda()
            self.sin = torch.cat([angles.sin()] * 2, -1).cuda()
            self.keys = torch.arange(1024, device="cuda")
            self.one = torch.ones(config.width, dtype=torch.float16, device="cuda")

        def turned(self, x: Any, position: Any) -> Any:
            half = config.head // 2
            opposite = torch.cat([-x[..., half:], x[..., :half]], -1)
            return (x * self.cos[position] + opposite * self.sin[position]).half()

        def forward(self, token: Any, position: Any) -> Any:
            x = self.table[token]
            mask = (self.keys <= position)[None, None, None]
            for number, (qkv, out, up, down) in enumerate(self.layers):
                rows = functional.linear(functional.rms_norm(x, (config.width,), self.one, config.epsilon), qkv)
                q, k, v = rows.split([config.heads * config.head, *[config.kv_heads * config.head] * 2], -1)
                q = self.turned(q.view(1, config.heads, 1, config.head), position)
                k = self.turned(k.view(1, config.kv_heads, 1, config.head), position)
                self.cache[number, 0].index_copy_(2, position, k)
                self.cache[number, 1].index_copy_(2, position, v.view(1, config.kv_heads, 1, config.head))
                keys, values = self.cache[number, 0], self.cache[number, 1]
                y = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask, enable_gqa=True)
                x = x + functional.linear(y.reshape(1, -1), out)
                normed = functional.rms_norm(x, (config.width,), self.one, config.epsilon)
                gate, value = functional.linear(normed, up).chunk(2, -1)
                x = x + functional.linear(functional.silu(gate) * value, down)
            x = functional.rms_norm(x, (config.width,), self.one, config.epsilon)
            logits = functional.linear(x, self.table)
            return logits.argmax(-1), logits

    return Model()


def theirs(torch: Any, weights: Weights, config: Config, rate: float) -> Iterator[Row]:
    """PyTorch's rows, each from a CUDA graph."""
    model = torch_model(torch, weights, config)
    token = torch.zeros(1, dtype=torch.long, device="cuda")
    position = torch.full((1,), PROMPT, dtype=torch.long, device="cuda")
    matrices = [m for layer in model.layers for m in layer]
    nbytes = sum(2 * m.numel() for m in (*matrices, model.table))
    for name in ("eager", "compiled", "compiled, max-autotune"):
        run = model
        if name != "eager":
            torch.compiler.reset()
            run = torch.compile(model, mode="max-autotune-no-cudagraphs" if "max" in name else "default")
        try:
            with torch.no_grad():
                graph = graphed(torch, lambda run=run: run(token, position))
                yield Row(f"torch f16, {name}, CUDA graph", torch_milliseconds(torch, graph), rate / nbytes)
        except Exception as error:
            print(f"torch {name}: {' '.join(str(error).split())[:300]}", flush=True)


def agreement(torch: Any, weights: Weights, config: Config) -> None:
    """Print how far our logits are from PyTorch's after a few tokens, and whether the next token is the same."""
    tokens = np.random.default_rng(3).integers(0, config.vocabulary, 12)
    model = torch_model(torch, weights, config)
    with torch.no_grad():
        for number, token in enumerate(tokens):
            at = torch.tensor([number], device="cuda")
            _, logits = model(torch.tensor([int(token)], device="cuda"), at)
    expected = logits.float().cpu().numpy()[0]
    with Transformer(config, weights, format="f16", context=1024) as mine, Generator(mine) as generator:
        generator.start(tokens)
        found = mine.logits.numpy()[: config.vocabulary]
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    print(
        f"logits differ from torch f16 by {error:.1e}; next token {found.argmax()} and {expected.argmax()}", flush=True
    )


def torch_milliseconds(torch: Any, call: Callable[[], object], count: int = 50) -> float:
    times = []
    for _ in range(7):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / count)
    return float(np.median(times))


def torch_bandwidth(torch: Any) -> float:
    a = torch.zeros(1 << 28, device="cuda")
    b = torch.empty_like(a)
    b.copy_(a)
    return 8e3 * a.numel() / torch_milliseconds(torch, lambda: b.copy_(a), 10)


@contextmanager
def caught(what: str) -> Iterator[None]:
    """Goes on after an error, which is printed."""
    try:
        yield
    except Exception as error:
        print(f"{what}: {type(error).__name__}: {error}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="a tiny model, to try the program")
    parser.add_argument("--sweep", action="store_true", help="measure the shapes of matvec.wgsl")
    parser.add_argument("--kernels", action="store_true", help="measure each kernel of a token")
    parser.add_argument("--no-torch", action="store_true")
    options = parser.parse_args()
    config = SMALL if options.small else CONFIG
    print(vertigrad.gpu().report(), flush=True)
    weights = RandomWeights(config).weights()
    if options.sweep:
        for format in ("f16", "int4"):
            sweep(weights, config, format, options.small)
        return
    rate = bandwidth(1 << 22 if options.small else 1 << 28)
    print(f"a copy by a kernel of ours moves {1e-9 * rate:.0f} GB/s", flush=True)
    torch = None
    if not options.no_torch:
        with caught("torch"):
            import torch  # type: ignore[no-redef]

            found = torch_bandwidth(torch)  # type: ignore[arg-type]
            print(f"torch's copy moves {1e-9 * found:.0f} GB/s", flush=True)
            rate = max(rate, found)
            with caught("agreement"):
                agreement(torch, weights, config)
    rows = []
    for format in ("f16", "int4"):
        with caught(format):
            for row in ours(weights, config, format, rate):
                print(row, flush=True)
                rows.append(row)
        if options.kernels:
            with caught("kernels"):
                kernels(weights, config, format)
    if torch is not None:
        with caught("torch"):
            for row in theirs(torch, weights, config, rate):
                print(row, flush=True)
                rows.append(row)
    print("\n".join(["", *map(str, rows)]))


if __name__ == "__main__":
    main()
