"""`Run`: one run of a sweep that has ended, as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

State = Literal["done", "failed", "pruned"]


@dataclass(frozen=True)
class Run:
    """A run that has ended.

    `values` are the swept parameters by name, `sets` all settings as `--set` takes them, `seed` that of every model.
    `outcomes` are numbers by name, `files` are images and videos by kind, relative to the sweep's folder. `seconds`
    passed from the start of the run to its end on the worker.
    """

    key: str
    values: Mapping[str, Any]
    sets: tuple[str, ...]
    seed: int | None
    state: State = "done"
    error: str = ""
    outcomes: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    adapter: str = ""

    def line(self) -> str:
        """The run as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    @classmethod
    def parse(cls, line: str) -> Run:
        """The run of such a line. Raises `ValueError` if it is none."""
        try:
            fields = json.loads(line)
            return cls(**{**fields, "sets": tuple(fields["sets"])})
        except (TypeError, KeyError, json.JSONDecodeError) as error:
            raise ValueError(f"not a run of a sweep: {error}") from error
