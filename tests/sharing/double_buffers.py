"""Networks in PyTorch write one block while the other is drawn; `test_sharing.py` runs this where memory is shared."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vertigrad.gpu import Gpu
from vertigrad.memory import Block
from vertigrad.scene import trust
from vertigrad.scene.load import load
from vertigrad.scene.stage import Stage
from vertigrad.tensor import Tensor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("steady")

PYTHON = """
import torch

def grow(x):
    return x + 1, (x * 2).int()
"""
SCENE = """
version = 1
[models.m]
type = "torch"
file = "net.py"
entry = "grow"
outputs = ["x", "twice"]
inputs.x = { feedback = "x", start = 0.0, shape = [1000] }
"""


class Growing:
    """A network whose output `x` is 1 at the start, and 1 more after each step."""

    def __init__(self, stage: Stage, gpu: Gpu):
        self.stage, self.gpu = stage, gpu
        self.instance = stage.instances["m"]

    def step(self) -> None:
        self.stage.begin_step(1.0)
        assert self.stage.proceed(lambda group, kernel, left, splits: left)

    def draw(self) -> int:
        """A submission that reads the outputs, as one that draws them does; returns its serial."""
        (self.x + 1.0).close()
        return self.gpu.submit()

    @property
    def x(self) -> Tensor:
        return self.instance.outputs["x"]


@pytest.fixture
def growing(gpu: Gpu, tmp_path: Path) -> Iterator[Growing]:
    assert not gpu.frameworks.reason
    (tmp_path / "net.py").write_text(PYTHON)
    (tmp_path / "scene.toml").write_text(SCENE)
    trust.allow([tmp_path / "net.py"])
    stage = Stage(load(tmp_path / "scene.toml"), gpu)
    yield Growing(stage, gpu)
    stage.close()
    gpu.submit()
    trust.forget()


def test_steps_write_two_blocks_in_turns(growing: Growing) -> None:
    blocks: list[Block] = []
    for number in range(1, 6):
        growing.step()
        blocks.append(growing.x.block)
        assert growing.x.numpy().tolist() == [number + 1] * 1000
        assert growing.instance.outputs["twice"].numpy().tolist() == [2 * number] * 1000
    assert len(set(blocks)) == 2
    assert blocks[0] is blocks[2] is blocks[4]


def test_a_step_does_not_wait_for_the_frame_before(growing: Growing, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[int] = []
    wait = growing.gpu.wait
    monkeypatch.setattr(growing.gpu, "wait", lambda serial: (waited.append(serial), wait(serial))[1])
    serials = []
    for _ in range(6):
        growing.step()
        serials.append(growing.draw())
        waited.append(-1)
    third, fourth, fifth = (waited[i + 1 : j] for i, j in _between(waited)[2:5])
    for found, serial in zip((third, fourth, fifth), serials[1:], strict=False):
        assert found
        assert max(found) < serial  # the frame before may still be drawn: only what used the other block has ended


def _between(waited: list[int]) -> list[tuple[int, int]]:
    ends = [-1, *(i for i, serial in enumerate(waited) if serial == -1)]
    return list(itertools.pairwise(ends))


def test_what_others_have_a_view_of_stays_and_is_waited_for(growing: Growing) -> None:
    for _ in range(2):
        growing.step()
    growing.instance.publication.withdraw()
    view = growing.x.torch()
    growing.instance.publish()
    block = growing.x.block
    growing.step()
    growing.step()
    assert growing.x.block is block
    assert view.tolist() == [5] * 1000
    serial = growing.draw()
    assert growing.gpu.tracker.retired >= serial
    del view
    growing.gpu.submit()
    growing.step()
    assert growing.x.block is not block
    assert growing.x.numpy().tolist() == [6] * 1000


def test_restored_values_are_fed_back(growing: Growing) -> None:
    growing.step()
    with growing.stage.rewriting():
        growing.x[...] = 10
    growing.step()
    assert growing.x.numpy().tolist() == [11] * 1000


def test_a_clone_keeps_the_values_of_its_step(growing: Growing) -> None:
    growing.step()
    with growing.x.clone() as clone:
        for _ in range(3):
            growing.step()
        assert clone.numpy().tolist() == [2] * 1000
    assert growing.x.numpy().tolist() == [5] * 1000


def test_closing_gives_both_blocks_back(gpu: Gpu, growing: Growing) -> None:
    growing.step()
    growing.step()
    named = [block for block in gpu.tracker.live if block.name.startswith("m.")]
    assert len(named) == 4
    growing.stage.close()
    gpu.wait_idle()
    assert not [block for block in gpu.tracker.live if block.name.startswith("m.")]


def test_reset_begins_anew(growing: Growing) -> None:
    for _ in range(3):
        growing.step()
    growing.stage.reset()
    assert growing.x.numpy().tolist() == [1] * 1000
    growing.step()
    assert growing.x.numpy().tolist() == [2] * 1000


def test_no_geometry_is_copied(growing: Growing) -> None:
    growing.step()
    before: dict[str, Any] = growing.gpu.meter.read()["geometry"]
    for _ in range(3):
        growing.step()
    assert growing.gpu.meter.read()["geometry"] == before
