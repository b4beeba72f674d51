"""Rows of workgroups that are folded into two dimensions, where one has too few: some of the last ones have no work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.gpu import Gpu, Kernel
from vertigrad.ops import attention_rows, conv_patches, paths

from .layouts import values

MOST = "max-compute-workgroups-per-dimension"


def drawn(*shapes: tuple[int, ...]) -> list[Tensor]:
    return [Tensor.from_numpy(values(shape, "f32", number)) for number, shape in enumerate(shapes)]


IMAGE, WINDOWS = (2, 40, 30, 31), (70, 40, 3, 3)
CALLS: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "tiles": (lambda x, w: ops.conv(x, w, stride=2), [IMAGE, WINDOWS]),
    "direct": (ops.conv, [IMAGE, (3, 40, 3, 3)]),
    "sliced": (ops.conv, [(2, 40, 7, 7), (70, 40, 2, 3)]),
    "patches": (lambda x, w: ops.conv(x, w, padding=1), [IMAGE, WINDOWS]),
    "attention": (lambda q, k, v: ops.attention(q, k, v, np.ones(300, bool)), [(2, 4, 300, 32)] * 3),
    "rows": (ops.attention, [(2, 4, 300, 32)] * 3),
    "layer_norm": (ops.layer_norm, [(3000, 9)]),
    "softmax": (ops.softmax, [(3000, 9)]),
    "matmul": (ops.matmul, [(300, 90), (90, 300)]),
    "gemv": (ops.matmul, [(1, 900), (900, 3000)]),
    "columns": (lambda x: ops.sum(x, 0), [(300, 900)]),
    "lines": (lambda x: ops.sum(x, 1), [(300, 900)]),
    "cumsum": (lambda x: ops.cumsum(x, 0), [(30000,)]),
    "sort": (ops.sort, [(30000,)]),
    "add": (lambda x, y: x + y, [(300, 90), (90,)]),
    "pool": (lambda x: ops.max_pool(x, 2), [IMAGE]),
    "resize": (lambda x: ops.resize(x, (2, 40, 50, 50)), [IMAGE]),
}
FOR_GPUS = ("sliced", "patches", "rows")


def most_workgroups(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """Of one dispatch, along a dimension."""
    found, workgroups = list[int](), Kernel.workgroups

    def noted(kernel: Kernel, threads: Any) -> tuple[int, int, int]:
        size = workgroups(kernel, threads)
        found.append(max(size))
        return size

    with monkeypatch.context() as patch:
        patch.setattr(Kernel, "workgroups", noted)
        run()
    return max(found)


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", CALLS)
def test_folded_dispatches(name: str, gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    call, shapes = CALLS[name]
    operands, limits = drawn(*shapes), dict(gpu.limits)
    has_subgroups = bool(paths.subgroup_size())
    if name in FOR_GPUS:
        monkeypatch.setattr(paths, "is_software", lambda: False)
        monkeypatch.setattr(conv_patches, "choose", lambda *sizes: (conv_patches.FEW, 3))
        monkeypatch.setattr(attention_rows, "FEWEST", 1)
    if name == "rows" and not has_subgroups:
        pytest.skip("this adapter has no subgroups of one size")

    def run() -> Any:
        with paths.forced(subgroups=has_subgroups):
            return call(*operands).numpy()

    want, groups = run(), most_workgroups(run, monkeypatch)
    least = int(np.ceil(groups**0.5))
    for most in {least, least + 1, groups - 1}:
        monkeypatch.setattr(gpu, "limits", limits | {MOST: most})
        np.testing.assert_array_equal(run(), want)
