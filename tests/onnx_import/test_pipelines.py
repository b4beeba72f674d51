"""The number of pipelines of a network: a few for all of its layers, of any sizes.

Compiling them takes most of the time until a network's first result, on software adapters above all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from vertigrad.gpu import Gpu, Kernel
from vertigrad.onnx_import import Network
from vertigrad.progress import Progress

from .networks import reals
from .zoo import Builder

COMPILED = 11  # by the network below on a software adapter, when this test was written

# Input and output channels, window, stride, dilation, groups: whole and partial tiles, depthwise and pointwise ones.
CONVOLUTIONS = [
    (3, 16, 3, 1, 1, 1),
    (16, 24, 3, 2, 1, 1),
    (24, 24, 5, 1, 1, 24),
    (24, 40, 1, 1, 1, 1),
    (40, 40, 3, 1, 1, 40),
    (40, 20, 1, 1, 1, 1),
    (20, 52, 3, 1, 2, 1),
    (52, 52, 3, 1, 1, 52),
    (52, 48, 1, 1, 1, 1),
    (48, 32, 3, 1, 1, 4),
    (32, 96, 1, 1, 1, 1),
    (96, 30, 3, 2, 1, 2),
    (30, 64, 3, 1, 3, 1),
    (64, 10, 5, 1, 1, 1),
    (10, 80, 1, 1, 1, 1),
    (80, 33, 3, 1, 1, 1),
    (33, 17, 1, 1, 1, 1),
    (17, 112, 3, 1, 1, 1),
    (112, 64, 1, 1, 1, 1),
    (64, 36, 3, 1, 1, 2),
]
FEATURES = [128, 96, 77, 200, 64, 33, 160, 48, 10, 120, 24, 5, 256, 100, 40, 72, 12, 18, 9, 7]


def forty_layers() -> onnx.ModelProto:
    build = Builder()
    value, side = build.input("x", (1, 3, 20, 20)), 20
    for number, (into, out, size, stride, dilation, group) in enumerate(CONVOLUTIONS):
        how = {"strides": [stride] * 2, "dilations": [dilation] * 2, "group": group, "pads": [size // 2 * dilation] * 4}
        value, side = build.conv(value, into, out, size, **how), -(-side // stride)
        value = build.add("LeakyRelu", value, alpha=0.01 * (1 + number))
    value, into = build.add("Flatten", value), 36 * side * side
    for number, out in enumerate(FEATURES):
        value = build.add("Gemm", value, build.weight(out, into), build.weight(out), transB=1)
        value, into = build.add("LeakyRelu", value, alpha=0.02 * (1 + number)), out
    build.output(value, "y", 2)
    return build.model()


def test_forty_layers_of_as_many_shapes_compile_a_few_pipelines(steady: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    if steady.adapter.kind != "software":
        pytest.skip("other adapters take other tiles")
    load, loaded = Kernel.load, set()

    def noted(*arguments: object, **more: object) -> Kernel:
        loaded.add(kernel := load(*arguments, **more))  # type: ignore[arg-type]
        return kernel

    monkeypatch.setattr(Kernel, "load", staticmethod(noted))
    with Network(forty_layers()) as network:
        found = network.run({"x": reals(1, 3, 20, 20)})["y"]
    assert found.shape == (1, FEATURES[-1])
    assert len(loaded) <= COMPILED, sorted(kernel.label for kernel in loaded)


def test_nodes_and_kernels_are_counted_where_somebody_follows(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[tuple[str, float]] = []

    class Noted(Progress):
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value)
            if name == "fraction" and getattr(self, "what", ""):
                reports.append((self.what, value))

    build = Builder()
    x = build.input("x", (1, 3, 6, 6))
    build.output(build.add("Selu", build.conv(x, 3, 4, 3), alpha=1.5), "y", 4)
    x_values, followed = reals(1, 3, 6, 6), Noted()
    with Network(build.model()) as plain:
        expected = plain.run({"x": x_values})["y"]
        kernels = {use.kernel for plan in plain.program({"x": x_values})._stages.plans for use in plan.first_uses}
        for kernel in kernels:
            kernel.is_compiled = False
    with followed.followed(), Network(build.model()) as network:
        np.testing.assert_array_equal(network.run({"x": x_values})["y"], expected)
        first = list(reports)
        network.close()
        network.run({"x": x_values})
    count = len(build.model().graph.node)
    assert [what for what, _ in first if "recording" in what] == [
        f"recording {network.source}: {number} of {count} nodes" for number in range(count)
    ]
    assert [what for what, _ in first if "compiling" in what] == [
        f"compiling kernels: {number} of {len(kernels)}" for number in range(len(kernels) + 1)
    ]
    fractions = [fraction for what, fraction in first if "compiling" in what]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert not [what for what, _ in reports[len(first) :] if "compiling" in what]  # they are compiled
