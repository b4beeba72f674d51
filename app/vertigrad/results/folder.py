"""`SweepFolder`: the folder that a sweep writes: its definition, a line for each run, images and videos."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..atomic_file import write_file
from ..errors import InputError
from .run import Run
from .table import Results

DEFINITION, RUNS, VERSION = "sweep.json", "runs.jsonl", 1
FOLDERS = {".png": "images"}  # for files of these suffixes; all others are videos


@dataclass(frozen=True)
class Definition:
    """What was swept: the scene's file, the names of the parameters, and what all runs have in common.

    `scene_digest` is that of the scene's files. `keys` are those of the runs of the current design, in its order;
    empty for a search, whose runs are all that there are. `metric` is the outcome that a search maximizes, or
    minimizes if `minimize`. `files` are the `fingerprints` of the scene's files.
    """

    scene: str
    title: str
    scene_digest: str
    parameters: tuple[str, ...]
    frames: int
    size: tuple[int, int]
    camera: str = ""
    keys: tuple[str, ...] = ()
    metric: str = ""
    minimize: bool = False
    vertigrad: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


class SweepFolder:
    """A folder with results. Only one process may write to it at a time."""

    def __init__(self, path: Path):
        self.path = path

    @property
    def exists(self) -> bool:
        """Whether it has results of a sweep."""
        return (self.path / DEFINITION).is_file()

    def definition(self) -> Definition:
        """Read the definition. Raises `InputError` if there is none, or one of a newer version."""
        file = self.path / DEFINITION
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            version = found.pop("version")
            if version != VERSION:
                raise InputError(f"{file}: has version {version}; this Vertigrad reads {VERSION}; update it")
            sequences = {name: tuple(found[name]) for name in ("parameters", "size", "keys")}
            return Definition(**{**found, **sequences})
        except OSError as error:
            raise InputError(f"{self.path}: has no results of a sweep ({DEFINITION}: {error.strerror})") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"{file}: is damaged ({error})") from error

    def write(self, definition: Definition) -> None:
        """Write the definition, and make the folder. Raises `InputError`."""
        text = json.dumps({"version": VERSION, **asdict(definition)}, indent=1) + "\n"
        write_file(self.path / DEFINITION, text.encode(), make_folder=True)

    def runs(self) -> dict[str, Run]:
        """Every run that has ended, by key, the last one of a key. A line that was cut off is left out.

        Raises `InputError` if the file cannot be read.
        """
        try:
            lines = (self.path / RUNS).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise InputError(f"{self.path / RUNS}: cannot be read ({error})") from error
        found: dict[str, Run] = {}
        for line in lines:
            try:
                run = Run.parse(line)
            except ValueError:
                continue  # the process that wrote it ended in the middle of the line
            found[run.key] = run
        return found

    def results(self) -> Results:
        """The runs of the current design that have ended, in its order. Raises `InputError`."""
        definition, runs = self.definition(), self.runs()
        keys: Iterable[str] = definition.keys or runs
        return Results(self.path, definition.parameters, [runs[key] for key in keys if key in runs])

    def add(self, run: Run, files: Mapping[str, bytes]) -> Run:
        """Write the files of a run (by names such as "image.png"), then its line; returns it with their paths.

        Raises `InputError`.
        """
        paths = {}
        for name, content in files.items():
            kind, suffix = name.split(".")
            paths[kind] = f"{FOLDERS.get(f'.{suffix}', 'videos')}/{run.key}.{suffix}"
            write_file(self.path / paths[kind], content, make_folder=True)
        run = Run(**{**vars(run), "files": paths})
        file = self.path / RUNS
        try:
            with file.open("a+b") as log:
                if log.seek(0, 2) and not self._ends_line(log):
                    log.write(b"\n")  # after a line that was cut off
                log.write(run.line().encode())
        except OSError as error:
            raise InputError(f"{file}: cannot be written ({error.strerror})") from error
        return run

    @staticmethod
    def _ends_line(log: Any) -> bool:
        log.seek(-1, 2)
        return log.read(1) == b"\n"
