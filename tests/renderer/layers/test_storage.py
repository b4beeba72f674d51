"""The blocks of tensors, looked up again when necessary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vertigrad.errors import UseAfterFree
from vertigrad.gpu import Gpu
from vertigrad.renderer.layers.storage import Blocks
from vertigrad.tensor import Tensor

from .kinds import KINDS, drawn


def test_the_list_is_the_same_until_a_tensor_moves(steady: Gpu) -> None:
    with Tensor.zeros((4, 3), name="a") as a, Tensor.zeros(5, name="b") as b, Tensor.zeros(6, name="c") as other:
        blocks = Blocks(steady, [a, b])
        first = blocks.current
        assert first == [a.block, b.block]
        with other.clone():
            steady.make_writable(other.owner)  # another tensor moves, and handles are closed
        assert blocks.current is first
        with a.clone() as clone:
            steady.make_writable(a.owner)
            assert blocks.current == [a.block, b.block] != first
            assert clone.block is first[0]


def test_a_closed_view_is_detected_while_its_tensor_lives(steady: Gpu) -> None:
    with Tensor.zeros((4, 3), name="state") as state:
        part = state[1:]
        blocks = Blocks(steady, [part])
        assert blocks.current == [state.block]
        part.close()
        with pytest.raises(UseAfterFree, match="state"):
            blocks.current  # noqa: B018


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lines"])  # which hold their own views
def test_a_layer_that_was_drawn_detects_a_closed_tensor(gpu: Gpu, layer: Any, shot: Any, kind: str) -> None:
    style, attributes = drawn(kind)
    main = next(iter(attributes))
    tensor = Tensor.from_numpy(attributes[main], name="gone")
    created = layer(kind, style, **{**attributes, main: tensor})
    assert shot(created, time=1.0).shape
    shot(created, time=2.0)
    tensor.close()
    with pytest.raises(UseAfterFree, match="gone"):
        shot(created, time=3.0)
    gpu.abandon()
    assert np.isfinite(shot(time=4.0)).all()
