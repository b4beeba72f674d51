"""Construction and closing of models, and the base class of constant models."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from vertigrad.errors import UseAfterFree
from vertigrad.gpu import Gpu
from vertigrad.models.base import OutputSpec
from vertigrad.models.model_bases import FixedStepModel, NamedTensorsModel
from vertigrad.models.parts import Parts
from vertigrad.tensor import Tensor, f32, u32


class Ground(NamedTensorsModel):
    """A row of numbers, and a view of it."""

    created: list[Tensor]

    @classmethod
    def output_specs(cls, params):
        return {"row": OutputSpec((4,), "f32")}

    def _create(self, parts: Parts) -> None:
        self.created = [parts.copied("row", np.arange(4.0))]
        self.views = parts.views({"middle": self.created[0][1:3]})
        if self._seed < 0:
            raise ValueError("no such ground")

    def outputs(self):
        return {**super().outputs(), **self.views}

    step = reset = lambda self, *_: None
    diagnostics = compare_with_reference = lambda self: {}


def test_a_constant_model_does_not_change(steady: Gpu) -> None:
    model = Ground("ground", None, {}, 0)
    before = model.outputs()["row"].numpy()
    model.step(1.0)
    model.reset()
    model.load_scalar_state(model.scalar_state())
    assert np.array_equal(model.outputs()["row"].numpy(), before)
    assert (model.state(), model.scalar_state(), model.reload_file("file")) == ({}, {}, False)
    model.close()
    model.close()
    for tensor in (*model.created, *model.views.values()):
        with pytest.raises(UseAfterFree):
            tensor.numpy()


def test_created_tensors_are_closed_if_construction_fails(steady: Gpu) -> None:
    created: list[Tensor] = []

    class Refused(Ground):
        def _create(self, parts):
            try:
                super()._create(parts)
            finally:
                created.extend(self.created)

    with pytest.raises(ValueError, match="no such ground"):
        Refused("ground", None, {}, -1)
    with pytest.raises(UseAfterFree):
        created[0].numpy()


def test_parts_are_named_after_their_model(steady: Gpu) -> None:
    with Parts("sea") as parts:
        created = parts.copied("waves", np.ones((2, 3))), parts.copied("index", np.ones(2, np.uint32))
        created += parts.empty("wind", 2, 3), parts.zeros("counts", 5, dtype=u32)
        assert [tensor.name for tensor in created] == ["sea.waves", "sea.index", "sea.wind", "sea.counts"]
        assert [tensor.dtype for tensor in created] == [f32, u32, f32, u32]
        assert [tensor.shape for tensor in created] == [(2, 3), (2,), (2, 3), (5,)]
        assert [plan.name for plan in parts.plans("step", "show")] == ["sea.step", "sea.show"]
    assert not created[3]._owner.handles


def test_a_clocked_model_keeps_its_remaining_time() -> None:
    methods = dict.fromkeys(FixedStepModel.__abstractmethods__, lambda self, *_: None)
    methods |= {"output_specs": classmethod(lambda cls, params: {})}
    model = type("Clock", (FixedStepModel,), methods)("clock", None, {}, 0)
    model._clock.due(0.25, 0.1)
    assert model.scalar_state() == {"remainder": pytest.approx(0.05)}
    model.load_scalar_state({"remainder": 0.01})
    assert model._clock.remainder == 0.01


def test_outputs_and_state_are_found_by_the_names_of_tensors(steady: Gpu) -> None:
    class Points(NamedTensorsModel):
        saved = ("points",)
        scalars = ("turn", "direction")
        _turn, _direction = 0, 0.0

        @classmethod
        def output_specs(cls, params):
            return {
                "points": OutputSpec((6, 4), "f32"),
                "position": OutputSpec((2, 3, 3), "f32", tensor="points", columns=slice(3)),
                "mass": OutputSpec((2, 3), "f32", tensor="points", columns=3),
                "any": OutputSpec((None, 2), "f32", tensor="points", columns=slice(1, 3)),
            }

        def _create(self, parts):
            parts.copied("points", np.arange(24.0).reshape(6, 4))

        def step(self, dt):
            self._turn, self._direction = self._turn + 1, self._direction + dt

        reset = diagnostics = compare_with_reference = lambda self: None

    with closing(Points("made", None, {}, 0)) as model:
        rows = np.arange(24.0).reshape(2, 3, 4)
        expected = {"points": rows.reshape(6, 4), "position": rows[..., :3], "mass": rows[..., 3]}
        expected["any"] = rows.reshape(6, 4)[:, 1:3]
        for name, tensor in model.outputs().items():
            assert np.array_equal(tensor.numpy(), expected[name])
        assert model.state().keys() == {"points"}
        model.step(0.5)
        numbers = model.scalar_state()
        model.step(0.5)
        model.load_scalar_state({name: float(value) for name, value in numbers.items()})
        assert model.scalar_state() == {"turn": 1, "direction": 0.5}
        assert isinstance(model.scalar_state()["turn"], int)
