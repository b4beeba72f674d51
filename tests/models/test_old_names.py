"""Deprecated names of version 0.1, which work with a notice of the new name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vertigrad.models import CustomModel, Model
from vertigrad.params import Params, angle, integer, number, vector

from ..old_names import warned


class Moving(CustomModel):
    def start(self, random: object) -> dict[str, Any]:
        return {}

    def advance(self, dt: float) -> None:
        return None


def test_a_model_may_define_compare_with_twin() -> None:
    with warned("Own.compare_with_twin is now called compare_with_reference"):

        class Own(Model):  # type: ignore[abstract]
            def compare_with_twin(self) -> list:
                return []

    assert Own.compare_with_reference is Own.__dict__["compare_with_twin"]
    assert "compare_with_reference" not in Own.__abstractmethods__


def test_a_model_may_define_touch() -> None:
    with warned("Own.touch is now called interact"):

        class Own(Model):  # type: ignore[abstract]
            def touch(self, interaction: object) -> None:
                return None

    assert Own.interact is Own.__dict__["touch"]


def test_a_model_may_define_numbers_resume_and_reread() -> None:
    with warned("Own.(numbers|reread|resume) is now called (scalar_state|reload_file|load_scalar_state)"):

        class Own(Moving):
            def numbers(self) -> dict[str, float]:
                return super().numbers() | {"laps": 3.0}  # type: ignore[misc]

            def resume(self, numbers: dict[str, float]) -> None:
                super().resume(numbers)  # type: ignore[misc]
                self.laps = numbers["laps"]

            def reread(self, name: str) -> bool:
                return super().reread(name) or name == "map"  # type: ignore[misc]

    own = object.__new__(Own)
    own._time = 0.5
    with warned("Own.numbers is now called scalar_state"):
        assert own.scalar_state() == {"time": 0.5, "laps": 3.0}
    with warned("Own.resume is now called load_scalar_state"):
        own.load_scalar_state({"time": 2.5, "laps": 4.0})
    assert (own._time, own.laps) == (2.5, 4.0)
    with warned("Own.reread is now called reload_file"):
        assert (own.reload_file("map"), own.reload_file("text")) == (True, False)


def test_state_of_a_model_has_its_old_names() -> None:
    class Own(Moving):
        pass

    own = object.__new__(Own)
    own._time = 0.5
    with warned("Own.numbers is now called scalar_state"):
        assert own.numbers() == {"time": 0.5}  # type: ignore[attr-defined]
    with warned("Own.resume is now called load_scalar_state"):
        own.resume({"time": 1.5})  # type: ignore[attr-defined]
    assert own.scalar_state() == {"time": 1.5}


@pytest.mark.parametrize(("declare", "default"), [(number, 1.0), (integer, 1), (angle, 1.0), (vector, (1.0, 1.0, 1.0))])
def test_ends_of_a_slider_may_be_soft(declare: Callable[..., Any], default: Any) -> None:
    with warned(f"{declare.__name__}: soft_m.. is now called slider_m.."):
        field = declare(default, soft_min=0.0, soft_max=3.0)
    kind = type(default) if not isinstance(default, tuple) else tuple[float, ...]
    made = type("Made", (Params,), {"__annotations__": {"x": kind}, "x": field})
    (spec,) = made.specs()
    assert (spec.slider_min, spec.slider_max) == (0.0, 3.0)
