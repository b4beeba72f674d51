"""The CPU cost of a whole frame of a scene, against the same wgpu calls as straight-line Python.

Instructions are counted, which are the same in every run, and times compared, which other work on the machine changes.

The peer is compiled from our own calls (plain_loop.py): it is the lower bound of these calls without counting,
pinning, checking and packing, not an independent program. Both draw the same image, byte for byte.
"""

from __future__ import annotations

import numpy as np
import pytest

import vertigrad
from vertigrad import resources
from vertigrad.headless.offscreen import FORMAT, Offscreen
from vertigrad.renderer.renderer import Renderer
from vertigrad.session import Session

from .images import clear, image
from .plain_loop import plain_loop, watched
from .results import Result, report
from .timing import instructions, lowest, quiet_quartiles

SIZE = (64, 48)
ROUNDS, WARM_UP = 300, 30
LEAST = 0.7  # times the speed of the bare calls: 0.77 on machines with other work, 0.91 on those without
MOST_INSTRUCTIONS = 0.8  # of Python, of those of the bare calls through wgpu-py
MOST_CALLS = {"nbody": 34, "neural_field": 42}  # of wgpu in a frame, without a GPU's timestamps
SMALL = {
    "nbody": ["galaxy.count=256", "galaxy.softening=1.0"],  # so few bodies would else need several steps a frame
    "neural_field": ["terrain.resolution=16", "view.shadows=0"],
}


@pytest.mark.bench
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_frame_makes_few_calls(name: str) -> None:
    """The calls are our own too: a program with twice as many would have the same ratio."""
    gpu = vertigrad.gpu()
    with Session(gpu, resources.path("scenes", f"{name}.toml"), SMALL[name]) as session:
        offscreen, renderer = Offscreen(gpu, SIZE), Renderer(gpu, FORMAT)

        def encode() -> None:
            session.apply()
            session.advance()
            session.draw(renderer, offscreen.view, SIZE)

        for _ in range(2):
            with gpu.frames.frame():
                encode()
        calls, _ = watched(gpu, encode)
    assert len(calls.lines) <= MOST_CALLS[name], "\n".join(calls.lines)


@pytest.mark.turns(3)
@pytest.mark.bench
@pytest.mark.parametrize("name", sorted(SMALL))
def test_a_frame_costs_little_more_than_its_bare_calls(name: str) -> None:
    """Floor: the calls; our overhead is counting, pinning, checking and packing."""
    gpu = vertigrad.gpu()
    session = Session(gpu, resources.path("scenes", f"{name}.toml"), SMALL[name])
    offscreen, renderer = Offscreen(gpu, SIZE), Renderer(gpu, FORMAT)

    def encode() -> None:
        session.apply()
        session.advance()
        session.draw(renderer, offscreen.view, SIZE)

    def ours() -> None:
        with gpu.frames.frame():
            encode()

    ours()
    session.reset()
    gpu.sync()
    plain = plain_loop(gpu, encode)
    drawn = image(gpu, offscreen)
    assert drawn.std() > 1.0, "there is nothing in the image"
    session.reset()
    clear(gpu, offscreen)
    plain()
    np.testing.assert_array_equal(image(gpu, offscreen), drawn)
    ours()
    of_ours, of_plain = instructions(ours), instructions(plain)
    assert of_ours <= MOST_INSTRUCTIONS * of_plain, f"{of_ours} instructions, {of_plain} of the bare calls"
    times: list[tuple[float, float]] = []

    def ratio() -> float:
        mine, theirs = quiet_quartiles(lambda _: ours(), lambda _: plain(), rounds=ROUNDS, warm_up=WARM_UP)
        times.append((mine, theirs))
        return mine / theirs

    lowest(ratio, 1 / LEAST)
    session.close()
    mine, theirs = min(times, key=lambda each: each[0] / each[1])
    peers = {"bare calls": theirs * 1e6}
    report(Result("CPU time of a frame", name, "µs", mine * 1e6, peers, "bare calls", LEAST))
