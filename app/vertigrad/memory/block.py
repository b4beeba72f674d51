"""`Block`: one allocation of bytes on the GPU, with its counts."""

from __future__ import annotations

import enum
import itertools
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from .borrow import Borrow


class State(enum.Enum):
    """What may happen to a block: live (held), retiring (the GPU may still need it), free (may be handed out).

    One whose device is gone is lost for good, whoever still holds it.
    """

    LIVE = "live"
    RETIRING = "retiring"
    FREE = "free"
    LOST = "lost"


_revisions = itertools.count(1).__next__
_PACKAGE = str(Path(__file__).resolve().parent.parent)


class Origin(NamedTuple):
    """Source position at which something was created."""

    file: str
    line: int

    @staticmethod
    def of_caller() -> Origin:
        """The nearest calling line outside of this package; the outermost one if there is none."""
        frame: Any = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back
        return Origin(frame.f_code.co_filename, frame.f_lineno)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


UNKNOWN = Origin("unknown", 0)


@dataclass(slots=True, eq=False, repr=False)
class Block:
    """One allocation on the GPU, or host memory waiting to become one.

    `owners` counts those who may write (a tensor with its views is one owner), `pins` counts uses that keep the
    block alive without owning it, `published` counts the sets of outputs that layers may still draw from it, and
    `last_serial` is the last submission that used it. Only `LifetimeTracker` and `BufferPool` change these.
    `revision` is of the bytes: every write gives another one, which no block has had.
    The block is reused for another allocation under the same `id` with a higher `generation`.
    """

    capacity: int
    storage: Any
    id: int = field(default_factory=itertools.count(1).__next__)
    generation: int = 0
    borrow: Borrow | None = None
    state: State = State.FREE
    owners: int = 0
    pins: int = 0
    published: int = 0
    last_serial: int = 0
    last_frame: int = 0
    nbytes: int = 0
    name: str = ""
    origin: Origin = UNKNOWN
    freed_frame: int = 0
    revision: int = field(default_factory=_revisions)
    exported: bool = False  # other frameworks can be given its memory

    @property
    def buffer(self) -> Any:
        """The GPU buffer that holds the bytes; None while borrowed host memory has not been uploaded."""
        return self.storage

    @property
    def shared(self) -> bool:
        """Whether a write must copy first: someone else owns it, draws from it, or owns the borrowed memory."""
        return self.owners != 1 or self.published > 0 or self.borrow is not None

    @property
    def held(self) -> bool:
        """Whether anything still holds it, the GPU's own use aside."""
        return self.owners > 0 or self.pins > 0

    @property
    def fate(self) -> str:
        """What became of a block that is gone, and what to do."""
        if self.state is State.LOST:
            return "was lost with the GPU's device; create it again"
        return f"was freed in frame {self.freed_frame}; keep a clone() if it is needed longer"

    def note_write(self) -> None:
        """The bytes become others, or were to become others by commands that were dropped."""
        self.revision = _revisions()

    def release_borrow(self) -> None:
        """Release borrowed host memory, if any: its bytes are on the GPU, or nobody needs them."""
        if self.borrow is not None:
            self.borrow.release()
            self.borrow = None

    def __repr__(self) -> str:
        return (
            f"<Block {self.id} {self.name!r} {self.nbytes} bytes, {self.state.value}, "
            f"owners {self.owners}, pins {self.pins}, generation {self.generation}>"
        )
