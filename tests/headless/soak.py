"""Run a session for thousands of frames in which everything changes and operations fail; run it as a module.

`VERTIGRAD_SOAK` is the number of frames, `VERTIGRAD_SOAK_SEED` the seed of the events. Between the laps nothing may
have grown, and in no frame may an edit be lost.
"""

from __future__ import annotations

import gc
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import wgpu

import vertigrad
from vertigrad.errors import DeviceLost, OutOfMemory
from vertigrad.gpu import Gpu
from vertigrad.headless import Offscreen
from vertigrad.headless.offscreen import FORMAT
from vertigrad.renderer import Renderer
from vertigrad.session import Session
from vertigrad.session.autosave import Autosave
from vertigrad.session.commands import (
    Command,
    Orbit,
    Play,
    Redo,
    Reload,
    Reset,
    Save,
    SetParameter,
    SetRewindMemory,
    SetSeed,
    SetSubsteps,
    Step,
    Undo,
)
from vertigrad.session.failures import Failures
from vertigrad.session.parameters import MODELS, Key
from vertigrad.session.rescue import recover

from ..session.running import kernel, use_models, written
from .expected_edits import SCENE, ExpectedEdits, filed_values, write_value
from .measures import held, resident

FRAMES, LAPS = 400, 8
MORE_RESIDENT = 48 << 20  # bytes that the process may grow by in the laps after the device was lost
REWIND = 64 << 10  # bytes of snapshots in the rewind buffer
EXHAUSTED = 0.04  # fraction of frames in which the device, or the pool's budget, is out of memory
FILE_EDITED = "reloads of an edited file"  # until one succeeds, saving asks first
NO_ROOM = "Validation Error\n\nCaused by:\n  In wgpuDeviceCreateBuffer\n    Not enough memory left."
ALLOCATING = ("create_buffer", "create_buffer_with_data", "create_texture")  # functions of the device


class Act(NamedTuple):
    """A command, and its effect on the expected edits unless it is rejected."""

    kind: str
    command: Command
    expect: Callable[[], object] = lambda: None


class Caught(Failures):
    """All unexpected errors, repetitions included."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[BaseException] = []

    def add(self, stage: str, error: BaseException, frame: int) -> bool:
        self.errors.append(error)
        return super().add(stage, error, frame)


class Soak:
    """`session` with what is expected of it; `happened` counts what was done. Raises `AssertionError`."""

    def __init__(self, session: Session, folder: Path, seed: int = 0):
        self.session, self.gpu, self.dice = session, session.gpu, random.Random(seed)
        self.folder, self.happened = folder, Counter[str]()
        self.file = session.scene.path
        self.edits = ExpectedEdits(filed_values(self.file))
        self.base = dict(self.edits.filed)
        self._unread: Act | None = None  # the file was edited, and there was no memory to load it
        self._failures = session.failures = Caught()
        session.autosave = Autosave(folder / "unsaved")
        session.post(SetRewindMemory(REWIND))
        self._prepare_images()

    # a frame ----------------------------------------------------------------------------------------------------

    def frame(self, act: Act | None = None, exhausted: bool = False) -> None:
        """One frame as in the window, with at most one command; if `exhausted`, errors of memory are expected."""
        session, gpu = self.session, self.gpu
        if act is not None:
            session.messages.pop(act.command.topic, None)
            session.post(act.command)
        try:
            if self.happened["frames"] % 7 == 0:
                self._resize()
            with gpu.frames.frame():
                session.apply()
                self._expect(act, exhausted)
                act = None
                session.try_to_advance()
                session.measure()
                session.request_readbacks()
                session.draw(self._renderer, self._offscreen.view, self._offscreen.size)
                if self.happened["frames"] % 16 == 5:
                    self._offscreen.read(lambda image: self.happened.update(["images read"]))
        except OutOfMemory as error:
            session.frame_dropped()
            self._failures.errors.append(error)
            self.happened["frames dropped"] += 1
            if act is not None:  # only this was posted, and it was not executed
                session.apply()
                self._expect(act, exhausted)
        self.happened["frames"] += 1
        self._check_failures(exhausted)
        session.autosave.follow(session)  # pyright: ignore[reportOptionalMemberAccess]
        self.check_edits()

    def _expect(self, act: Act | None, exhausted: bool) -> None:
        """Apply what the session executed to the expected edits."""
        if act is None:
            return
        self._unread = None
        refusal = self.session.messages.get(act.command.topic)
        if refusal is None:
            act.expect()
            self.happened[act.kind] += 1
            return
        if act.kind == "steps back" and not self.session.clock.rewind.snapshots:  # freed for other allocations
            self.happened["steps back without a snapshot"] += 1
            return
        assert exhausted and "Largest holders:" in refusal, (act, refusal)
        if act.kind == FILE_EDITED:
            self._unread = act
        self.happened["commands refused for want of memory"] += 1

    def _check_failures(self, exhausted: bool) -> None:
        for error in self._failures.errors:
            if not exhausted or not isinstance(error, OutOfMemory):
                raise AssertionError(f"frame {self.happened['frames']:,} failed") from error
            assert "Largest holders:" in str(error), error
        self._failures.errors.clear()
        self._failures.dismiss()
        if step := self.session.messages.pop("step", ""):
            assert exhausted and "Largest holders:" in step, step
        if exhausted:
            self.session.playing = True

    def check_edits(self) -> None:
        """Compare every value, and the history's length, with what is expected."""
        edits = self.session.scene_edits
        values = edits.values() | edits.settings()
        assert {key: values[key] for key in self.edits.values} == self.edits.values
        assert (len(edits.history.done), len(edits.history.undone)) == (len(self.edits.done), len(self.edits.undone))
        assert self.session.unsaved == bool(self.edits.unsaved)

    # events ----------------------------------------------------------------------------------------------------

    def lap(self, frames: int) -> None:
        """Frames in which everything changes, and memory sometimes runs out."""
        for _ in range(frames):
            act = self._unread or (self._act() if self.dice.random() < 0.7 else None)
            self.session.rescue.every = 1e-9 if self.dice.random() < 0.1 else 0.0
            if self.dice.random() < EXHAUSTED:
                with self.dice.choice((self._refusing, self._bounded))():
                    self.frame(act, exhausted=True)
            else:
                self.frame(act)

    def _act(self) -> Act:
        edits, dice = self.edits, self.dice
        kinds: list[tuple[int, Callable[[], Act]]] = [
            (30, lambda: self._edit(dice.choice([key for key in edits.values if key.name != "count"]))),
            (8, lambda: self._edit(dice.choice([key for key in edits.values if key.name == "count"]))),
            (10, lambda: Act("undone", Undo(), edits.undo)),
            (7, lambda: Act("redone", Redo(), edits.redo)),
            (3, lambda: Act("saved", Save(), edits.save)),
            (4, self._edit_file),
            (3, lambda: Act("restarted", Reload(restart=True), edits.restart)),
            (6, lambda: Act("steps back", Step(-dice.randint(1, 4)))),
            (10, lambda: Act("played", Play(True))),
            (2, lambda: Act("reset", Reset())),
            (10, lambda: Act("orbited", Orbit(dice.uniform(-1, 1), dice.uniform(-1, 1)))),
        ]
        weights = [weight for weight, _ in kinds]
        return dice.choices([make for _, make in kinds], weights)[0]()

    def _edit(self, key: Key) -> Act:
        return self._set(key, self._value(key))

    def _set(self, key: Key, value: Any) -> Act:
        model, expect = key.owner.removeprefix(MODELS), lambda: self.edits.edit({key: value})
        if key.name == "seed":
            return Act("seeds", SetSeed(value, model), expect)
        if key.name == "substeps":
            return Act("edits", SetSubsteps(model, value), expect)
        return Act("rebuilds" if key.name == "count" else "edits", SetParameter(*key, value), expect)

    def _value(self, key: Key) -> Any:
        if isinstance(self.base[key], bool):
            return self.dice.random() < 0.5
        if isinstance(self.base[key], int):
            return self.dice.randint(1, 3) if key.name == "substeps" else self.dice.randint(4, 64)
        low, high = (8.0, 32.0) if key.name == "text_size" else (0.01, 1.0)
        return round(self.dice.uniform(low, high), 3)

    def _edit_file(self) -> Act:
        """Edit the scene's file outside the program, and reload it."""
        key = self.dice.choice(list(self.base))
        value = self._value(key)
        write_value(self.file, key, value)
        return Act(FILE_EDITED, Reload(), lambda: self.edits.file_edited(key, value))

    def _resize(self) -> None:
        self._offscreen = Offscreen(self.gpu, (self.dice.randint(1, 160), self.dice.randint(1, 120)))
        self.happened["resizes"] += 1

    def _prepare_images(self) -> None:
        self._renderer, self._offscreen = Renderer(self.gpu, FORMAT), Offscreen(self.gpu, (64, 48))

    # failures ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """The device rejects some allocations, or all, and the pool has no free blocks."""
        self.gpu.pool.trim()
        most, before = self.dice.choice((1, 2, 3, 4, 9, 10**9)), self.happened["allocations refused"]

        def refusing(real: Callable[..., Any]) -> Callable[..., Any]:
            def allocate(*arguments: Any, **options: Any) -> Any:
                if self.happened["allocations refused"] - before < most:
                    self.happened["allocations refused"] += 1
                    raise wgpu.GPUValidationError(NO_ROOM)
                return real(*arguments, **options)

            return allocate

        with pytest.MonkeyPatch.context() as patch:
            for name in ALLOCATING:
                patch.setattr(self.gpu.device, name, refusing(getattr(self.gpu.device, name)))
            yield

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """The pool's budget is what is live now."""
        self.happened["frames with a budget"] += 1
        self.gpu.pool.limit(self.gpu.tracker.live_bytes)
        yield
        self.gpu.pool.budget = None

    def lose_device(self) -> None:
        """Destroy the device while edits are unsaved, and continue with a new one."""
        self.frame(self._edit(Key("models.row", "height")))
        assert self.session.unsaved
        self.gpu.device.destroy()
        with pytest.raises(DeviceLost):
            self.frame()
        kernel.cache_clear()  # of the test's own models: a kernel created from text stays on its device
        recover(self.session)
        self._prepare_images()
        self.happened["devices lost"] += 1
        self.check_edits()

    # between the laps -------------------------------------------------------------------------------------------

    def rest(self) -> tuple[int, int, int]:
        """Return what is held with the initial sizes, without snapshots and with nothing in progress."""
        if self._unread:
            self.frame(self._unread)
        self.check_autosave()
        for key in [key for key in self.base if key.name in ("count", "substeps")]:
            self.frame(self._set(key, self.base[key]))
        self.session.rescue.every = 0.0
        self.session.rescue.forget()
        for command in (Reset(), SetRewindMemory(0), Play(True)):  # what was not stepped since shares other blocks
            self.frame(Act("rests", command))
        self.gpu.wait_idle()
        self.frame()
        gc.collect()
        self.gpu.wait_idle()
        found = held(self.gpu)
        self.frame(Act("rests", SetRewindMemory(REWIND)))
        return found

    def check_autosave(self) -> None:
        """Check that if the program were killed now, every unsaved edit would be in a file."""
        autosave, unsaved = self.session.autosave, self.edits.unsaved
        assert autosave is not None
        autosave.write(self.session)
        files = [file for file in (self.folder / "unsaved").glob("*.toml") if ".base." not in file.name]
        assert bool(files) == bool(unsaved)
        if files:
            assert filed_values(files[0]) == self.edits.values
        self.happened["unsaved edits found in the autosave"] += len(unsaved)


def soak(gpu: Gpu, folder: Path, frames: int, seed: int = 0) -> None:
    """Run a session for `frames` frames, lose the device halfway, and print the counts."""
    before, began = held(gpu), time.perf_counter()
    with Session(gpu, written(folder, SCENE)) as session:
        run = Soak(session, folder, seed)
        counts: list[tuple[tuple[int, int, int], int]] = []
        for number in range(LAPS):
            if number == LAPS // 2:
                run.lose_device()
            run.lap((frames * (number + 1)) // LAPS - run.happened["frames"])
            counts.append((run.rest(), resident()))
            (blocks, nbytes, never_closed), memory = counts[-1]
            print(
                f"lap {number + 1}: {run.happened['frames']:,} frames, {blocks} live blocks, {nbytes:,} bytes, "
                f"{never_closed} closed by the collector; {memory >> 20:,} MiB resident",
                flush=True,
            )
            assert counts[-1][0][:2] == counts[0][0][:2], gpu.tracker.leak_report()
        assert counts[-1][1] - counts[LAPS // 2][1] < MORE_RESIDENT
        for kind, count in sorted(run.happened.items()):
            print(f"{count:>8,} {kind}")
        run.check_edits()
        session.autosave.finish(session)  # pyright: ignore[reportOptionalMemberAccess]
    assert session.allocations.left_behind() == [], gpu.tracker.leak_report()
    assert held(gpu)[:2] == before[:2]
    print(f"0 blocks and 0 bytes grown, {time.perf_counter() - began:.0f} s")


def main() -> None:
    """Run with the number of frames from the environment."""
    folder = Path(tempfile.mkdtemp(prefix="vertigrad-soak-"))
    try:
        with pytest.MonkeyPatch.context() as patch:
            use_models(patch)
            frames, seed = (os.environ.get(f"VERTIGRAD_SOAK{end}") for end in ("", "_SEED"))
            soak(vertigrad.gpu(), folder, int(frames or FRAMES), int(seed or 0))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
