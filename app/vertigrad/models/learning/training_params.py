"""Parameters that models which are trained have in common."""

from __future__ import annotations

from typing import Any

from ...params import number, switch


def learning_rate(default: float, of: str, slider_max: float | None = None, max: float = 1.0) -> Any:
    """The learning rate `of` something."""
    limits: dict[str, Any] = {"min": 0.0, "max": max, "slider_min": 1e-5, "slider_max": slider_max, "scale": "log"}
    return number(default, **limits, doc=f"learning rate of {of}")


def steps_per_second(default: float) -> Any:
    """Training steps per second of the simulation."""
    return number(default, min=0.1, max=240.0, scale="log", unit="1/s", doc="training steps per second")


def train_switch() -> Any:
    """Whether training goes on."""
    return switch(True, doc="train while the simulation runs; off: weights stay as they are")
