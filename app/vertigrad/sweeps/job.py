"""`Job`: a run that is to be computed, `Finished`: what became of it, and `Progress` in between; all can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import InputError, NoAdapter, VertigradError
from ..results import Run
from .outcomes import Outcome


@dataclass(frozen=True)
class Work:
    """What all runs of a sweep have in common.

    `trusted` are digests of Python files that the user allowed to run. With `report_every`, progress with the
    diagnostics is reported after so many frames. With the outcome `gradient_of`, its derivatives with respect to the
    swept parameters are outcomes too. `files` are the scene's file and those that it names, `digest` is
    theirs: a run fails if they changed.
    """

    scene: Path
    frames: int
    size: tuple[int, int]
    outcomes: tuple[Outcome, ...]
    camera: str = ""
    stop_on_nan: bool = False
    report_every: int = 0
    gradient_of: str = ""
    trusted: Mapping[Path, str] = field(default_factory=dict)
    files: tuple[Path, ...] = ()
    digest: str = ""


@dataclass(frozen=True)
class Job:
    """A run to compute: `values` are the swept parameters, `sets` all settings, both as in `Run`."""

    work: Work
    key: str
    values: Mapping[str, Any]
    sets: tuple[str, ...]
    seed: int | None

    def failed(self, error: str, seconds: float = 0.0) -> Finished:
        """The run as one that failed."""
        return Finished(Run(self.key, self.values, self.sets, self.seed, "failed", error, seconds=seconds))


@dataclass(frozen=True)
class Finished:
    """A run that has ended, and the contents of its files by name, such as "image.png".

    `short_of_memory` is whether it failed for the GPU's memory, which others may have used.
    """

    run: Run
    files: Mapping[str, bytes] = field(default_factory=dict)
    short_of_memory: bool = False


def portable(error: VertigradError) -> VertigradError:
    """An error that can be sent to another process, of the kind that the command line distinguishes."""
    kind = {InputError.exit_code: InputError, NoAdapter.exit_code: NoAdapter}.get(error.exit_code, VertigradError)
    return kind(str(error))


class Progress(NamedTuple):
    """How far a run is, and its diagnostics."""

    key: str
    frame: int
    diagnostics: Mapping[str, float]
