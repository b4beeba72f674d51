"""The blocks that the GPU still needs, recorded from the commands: independent of the pins that protect them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from vertigrad.gpu import Gpu
from vertigrad.gpu.native import CommandEncoder
from vertigrad.memory import Block, State


class Needs:
    """The blocks that the GPU still needs, each with the generation it had when a command took its buffer."""

    def __init__(self, gpu: Gpu):
        self._gpu = gpu
        self._recorded: dict[Block, int] = {}
        self._running: dict[int, dict[Block, int]] = {}
        self.on_submit: Callable[[], None] = lambda: None
        self.on_abandon: Callable[[], None] = lambda: None
        self.patch = pytest.MonkeyPatch()
        self._around(CommandEncoder, "copy_buffer_to_buffer", self._copied)
        self._around(gpu.tracker, "submit", self._submitted)
        self._around(gpu.recorder, "abandon", self._abandoned)
        self._around(gpu.pool._storage, "destroy", self._destroyed)

    def add(self, block: Block) -> None:
        """A command that uses `block` was recorded."""
        self._recorded[block] = block.generation

    def check(self) -> None:
        """Check that no block in use was freed, reused or destroyed."""
        for serial in [serial for serial in self._running if serial <= self._gpu.tracker.retired]:
            del self._running[serial]
        for needed in (self._recorded, *self._running.values()):
            for block, generation in needed.items():
                assert block.generation == generation, f"{block!r} was freed while a submission needs it"
                assert block.state is not State.FREE
                assert block.storage is not None

    def _around(self, target: Any, name: str, note: Callable[..., None]) -> None:
        """Call `note` with the arguments of each call of a method, and the method after it."""
        original = getattr(target, name)

        def call(*arguments: Any) -> Any:
            note(*arguments)
            return original(*arguments)

        self.patch.setattr(target, name, call)

    def _copied(self, _encoder: object, source: object, _from: int, target: object, *_rest: int) -> None:
        for block in self._gpu.tracker.blocks.values():
            if block.storage is source or block.storage is target:
                self.add(block)

    def _submitted(self, _blocks: object) -> None:
        self._running[self._gpu.tracker.submitted + 1], self._recorded = self._recorded, {}
        self.on_submit()

    def _abandoned(self) -> None:
        self._recorded = {}
        self.on_abandon()

    def _destroyed(self, buffer: object) -> None:
        """Check before the submission, which would abort the process."""
        for needed in (self._recorded, *self._running.values()):
            assert all(block.storage is not buffer for block in needed), "destroyed while a submission needs it"
