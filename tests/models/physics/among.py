"""Simulations among placed obstacles, which step with them."""

from __future__ import annotations

from typing import Any

from ..conftest import Make

FRAME = 1.0 / 60.0


def among(make: Make, type_: str, *bodies: dict[str, Any], **values: Any) -> Any:
    """Create a simulation from its obstacles, the last of which is the first in the chain, and its parameters."""
    chain: list[Any] = []
    for body in reversed(bodies):
        others = {"others": chain[-1].outputs()["obstacle"]} if chain else {}
        chain.append(make("obstacle", others, **body))
    model = make(type_, {"obstacle": chain[-1].outputs()["obstacle"]}, **values)
    model.obstacles = chain
    return model


def run(model: Any, frames: int) -> None:
    """Step what `among` created, and its obstacles."""
    for _ in range(frames):
        for obstacle in model.obstacles:
            obstacle.step(FRAME)
        model.step(FRAME)
