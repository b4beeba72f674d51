"""Names of version 0.1 that still work, with a notice of what they are called now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vertigrad.models import Model
from vertigrad.params import Params, angle, integer, number, vector

from ..old_names import warned


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


@pytest.mark.parametrize(("declare", "default"), [(number, 1.0), (integer, 1), (angle, 1.0), (vector, (1.0, 1.0, 1.0))])
def test_ends_of_a_slider_may_be_soft(declare: Callable[..., Any], default: Any) -> None:
    with warned(f"{declare.__name__}: soft_m.. is now called slider_m.."):
        field = declare(default, soft_min=0.0, soft_max=3.0)
    kind = type(default) if not isinstance(default, tuple) else tuple[float, ...]
    made = type("Made", (Params,), {"__annotations__": {"x": kind}, "x": field})
    (spec,) = made.specs()
    assert (spec.slider_min, spec.slider_max) == (0.0, 3.0)
