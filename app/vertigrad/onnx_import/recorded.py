"""`Recorded`: the programs of a network, recorded for inputs as they come, and again where numbers require it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..closing import Closing
from ..errors import Beyond32Bits, Redecided, UnsupportedOp
from .fold import SMALL_INTEGER
from .inputs import Feed, all_parts
from .node import DataDependent
from .program import Program
from .recording import Loaded, Recording

CACHED_PROGRAMS = 4  # programs for different shapes that a network caches


class Recorded(Closing):
    """The programs of a network; those for shapes that were used lately are cached."""

    def __init__(self, loaded: Loaded):
        self._loaded = loaded
        self.wide: frozenset[str] = frozenset()  # inputs and casts whose integers did not fit 32 bits
        self._known: frozenset[str] = frozenset()  # inputs that shapes depend on: a program holds for their numbers
        self._programs: dict[Any, Program] = {}  # the one used last at the end
        self._in_use: set[Program] = set()  # programs that callers hold

    def program(self, feeds: Mapping[str, Feed]) -> Program:
        """The program for such inputs, for the caller to use until it is closed."""
        program = self._of(feeds)
        self._in_use.add(program)
        return program

    def run(self, feeds: Mapping[str, Feed]) -> dict[str, Any]:
        """As `Network.run`."""
        before, first = self.wide, None
        while True:
            try:
                return self._run(feeds)
            except Redecided:  # recorded again, its shapes are decided by these very inputs
                continue
            except Beyond32Bits as error:  # recorded again, with pairs of words for what did not fit
                if error.names <= self.wide:
                    self.wide = before
                    raise
                first, self.wide = first or error, self.wide | error.names
            except UnsupportedOp:
                if first is None:
                    raise
                self.wide = before  # which is impossible
                raise first from None

    def close(self) -> None:
        """Give back every program. Idempotent."""
        for program in self._programs.values():
            program.close()
        self._programs.clear()
        self._in_use.clear()

    def _run(self, feeds: Mapping[str, Feed]) -> dict[str, Any]:
        program = self._of(feeds)
        program.set(all_parts(feeds))
        try:
            program.replay()
        except Redecided:
            self._programs.pop(self._key(feeds)).close()
            raise
        return program.read()

    def _of(self, feeds: Mapping[str, Feed]) -> Program:
        """The program for such inputs: one that was recorded lately, or a new one."""
        while True:
            key = self._key(feeds)
            program = self._programs.pop(key, None)
            if program is not None and not program.closed:
                self._programs[key] = program
                return program
            try:
                recording = Recording(
                    self._loaded,
                    feeds,
                    known=self._known,
                    wide=self.wide,
                    can_read=True,
                    most_small=SMALL_INTEGER,
                    checks_indices=True,
                )
                program = recording.program()
            except DataDependent as needed:
                if needed.sources <= self._known:
                    raise UnsupportedOp(self._loaded.source, [needed.reason]) from None
                self._known |= needed.sources
                continue
            self._programs[key] = program
            self._evict()
            return program

    def _key(self, feeds: Mapping[str, Feed]) -> Any:
        """What a program is recorded for."""
        return self.wide, *(
            (name, array.shape, _numbers(array) if name in self._known or array.dtype == object else None)
            for name, array in all_parts(feeds).items()
        )

    def _evict(self) -> None:
        """Close the programs that were used longest ago, but none that a caller holds."""
        self._in_use = {program for program in self._in_use if not program.closed}
        own = [key for key, program in self._programs.items() if program not in self._in_use]
        for key in own[:-CACHED_PROGRAMS]:
            self._programs.pop(key).close()


def _numbers(array: np.ndarray) -> Any:
    return tuple(array.reshape(-1).tolist()) if array.dtype == object else array.tobytes()
