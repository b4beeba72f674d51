"""What has not changed is neither computed nor lit again, and the images are those for which everything is."""

from __future__ import annotations

import itertools
import math
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.gpu import Computed, Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.params import ParamSpec
from vertigrad.renderer import renderer as renderer_module
from vertigrad.renderer.renderer import Renderer
from vertigrad.scene import load
from vertigrad.session import Session
from vertigrad.session.commands import (
    Deselect,
    HideRows,
    Orbit,
    Play,
    Redo,
    Reload,
    SelectRows,
    SetParameter,
    ShowHidden,
    Step,
    Undo,
    Zoom,
)

from ..renderer.layers.test_copies import SCENES, smaller_sizes

ACTIONS = int(os.environ.get("VERTIGRAD_ACTIONS", "12"))
SIZES = [(64, 48), (96, 64)]
SEED = int(os.environ.get("VERTIGRAD_SEED", "1"))
REDRAWN = {"liquid", "splats", "volume"}  # layers that are drawn in each frame
SLOW = {"count", "resolution", "samples", "steps_per_cell", "spacing", "shadow_resolution"}  # or too large


def value_of(spec: ParamSpec, chance: random.Random) -> Any:
    """A value of the range of a slider, or one of the choices."""
    low = next((end for end in (spec.slider_min, spec.min) if end is not None), -1.0)
    high = next((end for end in (spec.slider_max, spec.max) if end is not None), max(low, 1.0) + 1.0)
    match spec.kind:
        case "number" | "angle":
            return chance.uniform(low, high)
        case "integer":
            return chance.randint(math.ceil(low), max(math.floor(high), math.ceil(low)))
        case "choice":
            return chance.choice(spec.choices)
        case "switch":
            return chance.random() < 0.5
        case "vector" if isinstance(spec.default, tuple):
            return tuple(one + chance.uniform(-0.3, 0.3) for one in spec.default)
        case "interval":
            return tuple(sorted(chance.uniform(-1.0, 1.0) for _ in range(2)))
        case "color":
            return tuple(chance.random() for _ in range(3))
    return spec.default


def commands(session: Session, chance: random.Random) -> Iterator[Any]:
    """Random edits and moves, many of which change nothing that is drawn."""
    while True:
        rows = list(session.stage.layers)
        owner, params = chance.choice(list(session.parameters().items()))
        specs = [spec for spec in params.specs() if not spec.rebuild and spec.name not in SLOW]
        yield chance.choice(
            [
                *[
                    SetParameter(owner, one.name, value_of(one, chance))
                    for one in chance.sample(specs, min(3, len(specs)))
                ],
                Orbit(chance.uniform(-1, 1), chance.uniform(-1, 1)),
                Zoom(chance.uniform(0.8, 1.2), (0.2, -0.4), 1.3),
                Play(chance.random() < 0.4),
                Step(chance.choice([-1, 1])),
                Undo(),
                Redo(),
                SelectRows(chance.choice(rows), [chance.randrange(8)]),
                HideRows(chance.choice(rows), [chance.randrange(8)]),
                chance.choice([Deselect(), ShowHidden(), Reload(restart=True)]),
                None,
            ]
        )


def images(gpu: Gpu, name: str, seed: int) -> Iterator[tuple[str, np.ndarray, Renderer]]:
    """After each command, in two frames, what it was, the image, and what has drawn it."""
    chance = random.Random(seed)
    with Session(gpu, resources.path("scenes", f"{name}.toml"), smaller_sizes(name)) as session:
        renderer, offscreens = Renderer(gpu, FORMAT), {size: Offscreen(gpu, size) for size in SIZES}
        session.post(Play(False))
        for number, command in enumerate(itertools.islice(commands(session, chance), ACTIONS)):
            size = chance.choice([*SIZES[:1] * 4, *SIZES])
            if number and command is not None:  # nothing changes at first
                session.post(command)
            for _ in range(2):
                taken: list[np.ndarray] = []
                with gpu.frames.frame():
                    session.apply()
                    session.advance()
                    session.draw(renderer, offscreens[size].view, size)
                    offscreens[size].read(lambda pixels, into=taken: into.append(pixels.copy()))
                gpu.sync()
                while not taken:
                    gpu.poll()
                yield repr(command), taken[0], renderer


@pytest.mark.turns(15)
@pytest.mark.parametrize("name", SCENES)
def test_random_edits(steady: Gpu, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two sessions with the same commands, one of which does all of its work."""
    found, is_reused = [], False
    for command, image, renderer in images(steady, name, SEED):
        found.append((command, image))
        is_reused |= renderer.reused
    layers = load(resources.path("scenes", f"{name}.toml")).layers.values()
    assert is_reused or REDRAWN & {layer.type for layer in layers}
    monkeypatch.setattr(Computed, "holds", lambda self, plans: False)
    monkeypatch.setattr(renderer_module, "state_of", lambda *args: None)
    for number, (_, expected, _) in enumerate(images(steady, name, SEED)):
        command, image = found[number]
        assert np.array_equal(image, expected), (command, [before for before, _ in found[:number:2]])
