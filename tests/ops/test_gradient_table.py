"""Every public operation either has a gradient or raises an error that it is not differentiable.

The page docs/gradients-of-operations.md is generated from this test: VERTIGRAD_UPDATE=1 in the environment writes it.
"""

from __future__ import annotations

import gc
import os
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops import functions, network_functions
from vertigrad.ops.differentiable import DERIVATIVES, RULES
from vertigrad.ops.expression import OPERATIONS

from .test_gradients import ELEMENTWISE

PAGE = Path(__file__).parents[2] / "docs" / "gradients-of-operations.md"
HEAD = """What every public operation of `vertigrad.ops` gives gradients to, as found by calling each forwards and
backwards (`tests/ops/test_gradient_table.py` makes this page and checks it). What has none by nature gives a constant;
`backward()` of that raises `GradientError` with the reason. `reorder` writes into a tensor and raises for rows that
require a gradient; `take` has one.
"""
INDICES = np.array([0, 1], np.int32)

# Names that are not operations on values of tensors: types and classes, fills, sizes of dispatches.
OTHERS = {
    *("Binary", "Expression", "HashEncoding", "Mlp", "NeighborGrid", "Operand", "PositionalEncoding", "Ternary"),
    *("Unary", "arange", "dispatch_size", "draw_size", "elementwise", "evaluate", "neighbor_grid", "random"),
    *("reorder", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like", "allclose", "split"),
}
# The shapes of float operands by name, and the other arguments.
Sample = tuple[dict[str, tuple[int, ...]], dict[str, Any]]
ROWS, IMAGE, CUBE = (4, 3), (1, 2, 4, 4), (2, 4, 3)
CELL = {"x": (3, 2, 2), "weights": (1, 6, 2), "recurrence": (1, 6, 2), "bias": (1, 12), "initial": (1, 2, 2)}
STEP = {name: tuple(n * 4 // 3 if n in (6, 12) else n for n in shape) for name, shape in CELL.items()}
ONE = {name: tuple(n // 3 if n in (6, 12) else n for n in shape) for name, shape in CELL.items()}
SAMPLES: dict[str, Sample] = {
    **{name: ({"a": ROWS}, {}) for name in ("sum", "prod", "mean", "min", "max", "any", "all", "argmin", "argmax")},
    **{name: ({"x": ROWS}, {"axis": 1}) for name in ("l1", "l2", "sum_square", "log_sum", "log_sum_exp", "lp_norm")},
    **{name: ({"x": ROWS}, {"axis": 1}) for name in ("lp_normalize", "last_argmax", "last_argmin", "norm")},
    **{name: ({"x": ROWS}, {}) for name in ("softmax", "log_softmax", "hardmax", "tril", "triu", "nonzero")},
    **{name: ({"x": ROWS}, {}) for name in ("cumsum", "cumprod", "cummin", "cummax")},
    **{name: ({"keys": ROWS}, {}) for name in ("sort", "argsort")},
    **{name: ({"x": IMAGE}, {}) for name in ("global_average_pool", "global_max_pool", "global_lp_pool")},
    **{name: ({"x": IMAGE}, {"kernel_size": 2}) for name in ("max_pool", "average_pool", "lp_pool")},
    **{name: ({"a": ROWS}, {"axis": 1}) for name in ("var", "std", "flip")},
    "outer": ({"a": (3,), "b": (2,)}, {}),
    "meshgrid": ({"coordinates[0]": (3,), "coordinates[1]": (2,)}, {}),
    "dropout": ({"x": ROWS}, {"seed": 1}),
    "masked_select": ({"x": ROWS}, {"mask": np.array([True, True, False, True])}),
    "assign": ({"out": ROWS, "value": ROWS}, {}),
    "copy": ({"a": ROWS}, {}),
    "cast": ({"a": ROWS}, {"dtype": "f16"}),
    "fused": ({"a": ROWS, "b": (3,)}, {"function": lambda a, b: ops.exp(a) * b}),
    "concatenate": ({"parts[0]": ROWS, "parts[1]": ROWS}, {}),
    "stack": ({"parts[0]": ROWS, "parts[1]": ROWS}, {}),
    "einsum": ({"operands[0]": ROWS, "operands[1]": ROWS}, {"equation": "ij,ij->i"}),
    "take": ({"a": ROWS}, {"indices": INDICES, "axis": 0}),
    "take_along_axis": ({"a": ROWS}, {"indices": INDICES[None], "axis": 1}),
    "embedding": ({"weights": ROWS}, {"indices": INDICES}),
    "gather_nd": ({"x": ROWS}, {"indices": INDICES[None]}),
    "scatter_nd": ({"x": ROWS, "updates": (2, 3)}, {"indices": INDICES[:, None]}),
    "scatter_elements": ({"x": ROWS, "updates": (2, 1)}, {"indices": INDICES[:, None]}),
    "topk": ({"x": ROWS}, {"k": 2}),
    "sort_pairs": ({"keys": ROWS, "values": ROWS}, {}),
    "compact": ({"x": ROWS}, {"mask": np.array([True, True, False, True])}),
    "scan": ({"x": ROWS}, {"how": "sum"}),
    "segmented_reduce": ({"x": ROWS}, {"how": "sum", "offsets": np.array([0, 2, 4], np.int32)}),
    "reduce_by_key": ({"x": ROWS}, {"how": "sum", "keys": np.array([0, 0, 1, 1], np.int32), "segments": 2}),
    "histogram": ({"x": ROWS}, {"bins": 3, "limits": (0.0, 1.0)}),
    "matmul": ({"a": ROWS, "b": (3, 4)}, {}),
    "linear": ({"x": ROWS, "weight": (2, 3), "bias": (2,), "residual": (4, 2)}, {"activation": "tanh"}),
    "gemm": ({"a": ROWS, "b": (3, 2), "c": (2,)}, {}),
    "mlp": ({"x": ROWS, "weights[0]": (4, 3), "weights[1]": (2, 4), "biases[0]": (4,), "biases[1]": (2,)}, {}),
    "conv": ({"x": IMAGE, "weights": (3, 2, 2, 2), "bias": (3,), "residual": (1, 3, 3, 3)}, {}),
    "conv_transpose": ({"x": IMAGE, "weights": (2, 3, 2, 2), "bias": (3,), "residual": (1, 3, 5, 5)}, {}),
    "pack_conv_weights": ({"weights": (3, 2, 2, 2)}, {}),
    "layer_norm": ({"x": CUBE, "scale": (3,), "bias": (3,)}, {}),
    "layer_norm_with_statistics": ({"x": CUBE, "scale": (3,), "bias": (3,)}, {}),
    "rms_norm": ({"x": CUBE, "scale": (3,)}, {}),
    "group_norm": ({"x": CUBE, "scale": (4,), "bias": (4,)}, {"groups": 2}),
    "instance_norm": ({"x": CUBE, "scale": (4,), "bias": (4,)}, {}),
    "batch_norm": ({"x": CUBE, "scale": (4,), "bias": (4,), "mean": (4,), "variance": (4,)}, {}),
    "local_response_norm": ({"x": CUBE}, {"size": 3}),
    "attention": ({"q": (1, 2, 3, 4), "k": (1, 1, 3, 4), "v": (1, 1, 3, 4), "mask": (3, 3)}, {"causal": True}),
    "rnn": (ONE, {}),
    "gru": (CELL, {}),
    "lstm": ({**STEP, "initial_cell": (1, 2, 2), "peepholes": (1, 6)}, {}),
    "pad": ({"x": ROWS}, {"padding": 1, "mode": "reflect"}),
    "tile": ({"x": ROWS}, {"repeats": (2, 1)}),
    "roll": ({"x": ROWS}, {"shift": (1, -1), "axis": (0, 1)}),
    "linspace": ({"start": (3,), "stop": (3,)}, {"num": 4}),
    "depth_to_space": ({"x": (1, 4, 2, 2)}, {"block": 2}),
    "space_to_depth": ({"x": IMAGE}, {"block": 2}),
    "resize": ({"x": ROWS}, {"size": [6, 6]}),
    "grid_sample": ({"x": IMAGE, "grid": (1, 2, 2, 2)}, {}),
    "affine_grid": ({"theta": (1, 2, 3)}, {"size": (2, 2)}),
    "grid_normals": ({"positions": (3, 3, 3)}, {}),
    "hash_encoding": ({"x": ROWS, "tables": (2, 16, 2)}, {"coarsest": 2, "finest": 4}),
    "positional_encoding": ({"x": ROWS}, {"frequencies": 2}),
    "encode": ({"x": ROWS}, {"encoding": ops.PositionalEncoding(2)}),
}
# Operations on integers only, which are not differentiable.
WHOLE: dict[str, Callable[[], Tensor]] = {
    "bincount": lambda: ops.bincount(INDICES, 2),
    "one_hot": lambda: ops.one_hot(INDICES, 2),
    "segment_starts": lambda: ops.segment_starts(INDICES, 2),
}
ELEMENTS = [name for name in functions.__all__ + network_functions.__all__ if name in OPERATIONS]
# Aliases: parts of a scan, of `hash_encoding`, of everything that writes, casts or moves elements.
COMPOSED = {"assign", "cast", "cummax", "cummin", "encode", "pack_conv_weights"}
NOTES = {
    "attention": "with all masks, windows and lengths",
    "encode": "and to the tables of a hash grid",
    "grid_sample": "to the grid but for 'nearest', which is flat",
    "reduce_by_key": "by 'sum', 'mean', 'min' and 'max'",
    "scan": "of sums, products and extremes",
    "scatter_elements": "with 'none' and 'add'",
    "scatter_nd": "with 'none' and 'add'",
    "segmented_reduce": "by 'sum', 'mean', 'min' and 'max'",
    "pad": "in all modes",
    "resize": "with all filters",
}


def leaf(shape: tuple[int, ...], name: str) -> Tensor:
    """Numbers from 0.2 to 0.8 that require gradients, the same for each name in any order of tests."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    tensor = Tensor.from_numpy(random.uniform(0.2, 0.8, shape).astype(np.float32), name)
    tensor.requires_grad = True
    return tensor


def by_derivatives(name: str) -> str:
    """Of an elementwise operation, whose derivatives test_gradients.py compares one by one."""
    if name not in DERIVATIVES:
        return f"none: {RULES[name].why}"
    return "to " + ", ".join(f"`{letter}`" for letter, one in zip("abc", DERIVATIVES[name], strict=False) if one)


def leaves_of(name: str) -> dict[str, Tensor]:
    return {key: leaf(shape, key) for key, shape in SAMPLES[name][0].items()}


def called(name: str, tensors: Mapping[str, Tensor] | None = None) -> tuple[dict[str, Tensor], list[Tensor]]:
    """Leaves by name, and the results of the operation."""
    others = SAMPLES[name][1]
    leaves = dict(tensors or leaves_of(name))
    function, values = getattr(ops, name), dict(leaves)
    for key in [key for key in leaves if "[" in key]:
        values.setdefault(key.split("[")[0], []).append(values.pop(key))  # type: ignore[arg-type, union-attr]
    if name == "assign":  # into the result of an operation
        result = function(values["out"] * 1.0, values["value"])
        del leaves["out"]
    elif name == "fused":
        result = function(others["function"], *values.values())
    elif name == "meshgrid":
        result = function(*values["coordinates"])
    elif name == "einsum":
        result = function(others["equation"], *values["operands"])
    else:
        result = function(**values, **others)
    return leaves, [each for each in (result if isinstance(result, tuple) else (result,)) if each is not None]


def found(name: str) -> str:
    """The page's entry for an operation."""
    if name in WHOLE:
        assert RULES[name].why and not WHOLE[name]().requires_grad
        return f"none: {RULES[name].why}"
    if name in ELEMENTS:
        return by_derivatives(name)
    leaves, results = called(name)
    differentiable = [each for each in results if each.requires_grad]
    if not differentiable:
        message = rf"^{name} of tensor '\w+'.* has no gradient: {re.escape(RULES[name].why)}; "
        with pytest.raises(GradientError, match=message):
            results[0].backward(Tensor.zeros(results[0].shape, results[0].dtype))
        return f"none: {RULES[name].why}"
    for each in differentiable:
        each.backward(Tensor.full(each.shape, 1.0, each.dtype), keep_graph=True)
    expected = [key for key, tensor in leaves.items() if tensor.grad is not None]
    assert all(np.isfinite(leaves[key].grad.numpy()).all() for key in expected)  # type: ignore[union-attr]
    one = Tensor.full(differentiable[0].shape, 1.0, differentiable[0].dtype)
    differentiable[0].backward(one)  # the graph is freed after its first use
    with pytest.raises(GradientError, match="keep_graph"):
        differentiable[0].backward(one)
    names = list(dict.fromkeys(f"`{key.split('[')[0]}`" for key in expected))
    assert names, f"{name} has a graph, and gives nothing back"
    return "to " + ", ".join(names) + (f"; {NOTES[name]}" if name in NOTES else "")


def operations() -> list[str]:
    return [name for name in ops.__all__ if name not in OTHERS]


def page() -> Iterator[str]:
    yield "# Gradients of operations\n"
    yield HEAD
    yield "| operation | gradient |\n|---|---|"
    for name in sorted(operations()):
        yield f"| `{name}` | {found(name)} |"


@pytest.mark.turns(2)
def test_the_page_lists_the_gradient_of_each_operation(gpu: Gpu) -> None:
    text = "\n".join(page()) + "\n"
    if os.environ.get("VERTIGRAD_UPDATE") == "1":
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "VERTIGRAD_UPDATE=1 updates the page"


def test_every_gradient_is_compared_with_finite_differences() -> None:
    """Every differentiable operation of the page is named in a test of gradients."""
    tests = "".join(
        path.read_text() for path in Path(__file__).parent.glob("test_gradient*.py") if path != Path(__file__)
    )
    rows = re.findall(r"^\| `(\w+)` \| (to|none)", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(rows) == len(operations())
    expected = {name for name, what in rows if what == "to"} - ELEMENTWISE.keys() - COMPOSED
    missing = {name for name in expected if not re.search(rf"\bops\.{name}\b|\.{name}\(|\"{name}\"", tests)}
    assert not missing, missing


def gradients(leaves: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """The gradients of the leaves, which are then cleared."""
    found = {key: tensor.grad.numpy() for key, tensor in leaves.items() if tensor.grad is not None}
    for tensor in leaves.values():
        tensor.grad = None
    return found


def back(results: list[Tensor]) -> None:
    for each in results:
        if each.requires_grad:
            each.backward(Tensor.full(each.shape, 1.0, each.dtype), keep_graph=True)


@pytest.mark.turns(2)
def test_a_plan_gives_the_same_bits(gpu: Gpu) -> None:
    """Also at the second replay, when freed memory is used for something else."""
    for name in sorted(SAMPLES.keys() - {"masked_select"}):  # which reads a count back
        leaves = leaves_of(name)
        back(called(name, leaves)[1])
        at_once = gradients(leaves)
        with Plan(name) as plan:
            with plan.recording():
                back(called(name, leaves)[1])
            with Tensor.full((1000,), 7.0), Tensor.full((16,), 7.0), Tensor.full((4,), 7.0):
                plan.replay()
            plan.replay()
            replayed = gradients(leaves)
        assert at_once.keys() == replayed.keys(), name
        assert all(np.array_equal(value, replayed[key]) for key, value in at_once.items()), name


@pytest.mark.parametrize("name", ["attention", "average_pool", "layer_norm"])
def test_f16_operands_get_f16_gradients(gpu: Gpu, name: str) -> None:
    whole = leaves_of(name)
    half = {key: Tensor.from_numpy(tensor.numpy().astype(np.float16)) for key, tensor in whole.items()}
    found = []
    for leaves in (whole, half):
        for tensor in leaves.values():
            tensor.requires_grad = True
        result = called(name, leaves)[1][0]
        assert result.dtype is next(iter(leaves.values())).dtype
        weights = np.linspace(-1, 1, result.size).reshape(result.shape).astype(result.dtype.numpy)
        result.backward(Tensor.from_numpy(weights))
        found.append(gradients(leaves))
    for key, value in found[1].items():
        assert value.dtype == np.float16
        np.testing.assert_allclose(value, found[0][key], rtol=1e-2, atol=3e-3 * max(1.0, np.abs(found[0][key]).max()))


def test_memory_does_not_grow_with_the_number_of_steps(steady: Gpu) -> None:
    names = ("attention", "compact", "cumprod", "grid_sample", "pad", "resize", "segmented_reduce", "sort")
    held = []
    gc.collect()  # cycles of earlier tests
    for step in range(12):
        for name in names:
            leaves, results = called(name)
            results[0].backward(Tensor.full(results[0].shape, 1.0))
            for tensor in (*leaves.values(), *results):
                tensor.grad = None
                tensor.close()
        del leaves, results, tensor
        steady.wait_idle()
        if step in (3, 11):
            held.append((len(steady.tracker.live), steady.pool.held_bytes))
    assert held[0] == held[1]
