"""Gradients of recurrent layers against differences of the standard's equations in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad import Tensor, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu, Plan

from .differences import RANDOM, check, leaf
from .test_recurrent import drawn, reference


def arguments(kind: str, directions: int = 1, **sizes: int) -> dict[str, np.ndarray]:
    sizes = {"steps": 3, "members": 3, "inputs": 2, "size": 3} | sizes
    return {name: np.clip(value, -0.8, 0.8) for name, value in drawn(kind, directions, **sizes).items()}


def together(kind: str, arrays: dict[str, np.ndarray], **how: Any) -> None:
    """All operands, and all results concatenated."""
    names = list(arrays)
    lengths = {"lengths": how.pop("lengths")} if "lengths" in how else {}

    def ours(*tensors: Tensor) -> Tensor:
        named = dict(zip(names, tensors, strict=True)) | lengths
        return ops.concatenate(list(getattr(ops, kind)(**named, **how)), None)

    def theirs(*values: np.ndarray) -> np.ndarray:
        return np.concatenate(
            [part.ravel() for part in reference(kind, dict(zip(names, values, strict=True)) | lengths, how)]
        )

    check(ours, theirs, list(arrays.values()))


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("rnn", {"direction": "bidirectional", "clip": 0.9}),
        ("gru", {"direction": "bidirectional"}),
        ("gru", {"direction": "bidirectional", "linear_before_reset": True}),
        ("lstm", {"direction": "bidirectional"}),
    ],
)
def test_both_directions_with_sequence_lengths(gpu: Gpu, kind: str, how: dict[str, Any]) -> None:
    """With all optional inputs, one shorter sequence and one empty one."""
    arrays = arguments(kind, 2)
    together(kind, arrays, lengths=np.array([3, 0, 2], np.int32), **how)


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        ("rnn", {"activations": [("affine", 0.5, 0.25)]}),
        ("gru", {"activations": [("hard_sigmoid", 0.3, 0.4), ("scaled_tanh", 1.5, 0.5)], "direction": "reverse"}),
        ("lstm", {"activations": [("hard_sigmoid", 0.2, 0.5), "softsign", ("leaky_relu", 0.1)], "coupled": True}),
    ],
)
def test_only_required_inputs_with_other_activations(gpu: Gpu, kind: str, how: dict[str, Any]) -> None:
    together(kind, {name: arguments(kind)[name] for name in ("x", "weights", "recurrence")}, **how)


def test_one_operand_only_and_no_steps(gpu: Gpu) -> None:
    arrays = arguments("lstm")
    tensors = {name: Tensor.from_numpy(value) for name, value in arrays.items()}
    tensors["recurrence"] = leaf(arrays["recurrence"])
    states, _, cells = ops.lstm(**tensors)
    (states.sum() + cells.sum()).backward()
    alone = tensors["recurrence"].grad
    every = {name: leaf(value) for name, value in arrays.items()}
    states, _, cells = ops.lstm(**every)
    (states.sum() + cells.sum()).backward()
    assert alone is not None
    np.testing.assert_allclose(alone.numpy(), every["recurrence"].grad.numpy(), atol=1e-6)  # type: ignore[union-attr]

    arrays["x"] = arrays["x"][:0]
    empty = {name: leaf(value) for name, value in arrays.items()}
    _, last, cells = ops.lstm(**empty)
    (last.sum() + cells.sum() * 2.0).backward()
    found = {name: tensor.grad for name, tensor in empty.items()}
    assert all(gradient is not None for gradient in found.values())
    assert (found["initial"].numpy() == 1).all() and (found["initial_cell"].numpy() == 2).all()
    assert all((found[name].numpy() == 0).all() for name in ("weights", "recurrence", "bias", "peepholes"))


def test_f16_is_computed_in_f32(gpu: Gpu) -> None:
    arrays = arguments("gru")
    wide, narrow = ({name: leaf(value.astype(dtype)) for name, value in arrays.items()} for dtype in ("f4", "f2"))
    for tensors in (wide, narrow):
        ops.gru(**tensors)[0].sum().backward()
    for name in arrays:
        exact, ours = wide[name].grad.numpy(), narrow[name].grad.numpy()  # type: ignore[union-attr]
        assert ours.dtype == np.float16
        np.testing.assert_allclose(ours, exact, rtol=1e-2, atol=5e-3 * np.abs(exact).max())


def test_a_graph_is_used_once_and_gives_the_same_bits_also_from_a_plan(gpu: Gpu) -> None:
    arrays = arguments("gru")
    back = Tensor.from_numpy(RANDOM.normal(size=(3, 1, 3, 3)).astype(np.float32))
    found = []
    for run in range(3):
        tensors = {name: leaf(value) for name, value in arrays.items()}
        with Plan("step") as plan:
            if run < 2:
                states, _ = ops.gru(**tensors)
                states.backward(back)
                with pytest.raises(GradientError, match="keep_graph"):
                    states.backward(back)
            else:
                with plan.recording():
                    ops.gru(**tensors)[0].backward(back)
                plan.replay()
            found.append({name: tensor.grad.numpy() for name, tensor in tensors.items()})  # type: ignore[union-attr]
    for other in found[1:]:
        assert all(np.array_equal(found[0][name], other[name]) for name in arrays)


def test_memory_does_not_grow_with_the_number_of_steps(steady: Gpu) -> None:
    tensors = {name: Tensor.from_numpy(value, name) for name, value in arguments("lstm").items()}
    held = []
    for tensor in tensors.values():
        tensor.requires_grad = True
    for step in range(12):
        ops.lstm(**tensors)[0].sum().backward()
        for tensor in tensors.values():
            tensor.grad = None
        steady.wait_idle()
        if step in (3, 11):
            held.append((len(steady.tracker.live), steady.pool.held_bytes))
    assert held[0] == held[1]
    for tensor in tensors.values():
        tensor.close()
