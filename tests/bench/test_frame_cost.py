"""What a whole frame of each scene costs the CPU, against a hand-written wgpu-py loop that draws the same picture."""

from __future__ import annotations

import numpy as np
import pytest

import vertigrad
from vertigrad import resources
from vertigrad.gpu import Gpu
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session

from .plain_loop import plain_loop
from .timing import lowest, quiet_quartiles

SIZE = (64, 48)
ROUNDS, WARM_UP = 300, 30
BOUND = 1.15
SMALL = {"nbody": "galaxy.count=256", "neural_field": "terrain.resolution=16"}


def picture(gpu: Gpu, offscreen: Offscreen) -> np.ndarray:
    pictures: list[np.ndarray] = []
    offscreen.read(pictures.append)
    gpu.sync()
    while not pictures:
        gpu.poll()
    return pictures[0]


@pytest.mark.bench
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_frame_costs_little_more_than_a_hand_written_one(name: str) -> None:
    """Floor: the calls themselves; what is ours on top is counting, pinning, checking and packing."""
    gpu = vertigrad.gpu()
    session = Session(gpu, resources.path("scenes", f"{name}.toml"), [SMALL[name]])
    offscreen, renderer = Offscreen(gpu, SIZE), Renderer(gpu, FORMAT)

    def encode() -> None:
        session.apply()
        session.advance()
        session.draw(renderer, offscreen.view, SIZE)

    def ours() -> None:
        with gpu.frames.frame():
            encode()

    ours()
    plain = plain_loop(gpu, encode)
    session.playing = False
    session.reset()
    ours()
    still = picture(gpu, offscreen)
    assert still.std() > 1.0, "there is nothing in the picture"
    session.playing = True

    def ratio() -> float:
        mine, theirs = quiet_quartiles(lambda _: ours(), lambda _: plain(), rounds=ROUNDS, warm_up=WARM_UP)
        print(f"\n{name}: ours {mine * 1e6:.0f} µs, hand-written {theirs * 1e6:.0f} µs, ratio {mine / theirs:.2f}")
        return mine / theirs

    found = lowest(ratio, BOUND)
    session.close()
    assert found <= BOUND
