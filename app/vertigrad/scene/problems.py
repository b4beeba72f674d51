"""`SceneProblems`: collects the problems of a scene file and of `--set` options, to report them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InputError, SceneError, SceneProblem
from .locate import KeyPath, dotted
from .source import Source


@dataclass(frozen=True)
class Setting:
    """One `--set`: its text, and the path and value that it assigns. `path` is empty if the text has none."""

    text: str
    path: KeyPath = ()
    value: Any = None


class SceneProblems:
    """The problems found so far: those of the file with their positions, those of a `--set` with its text."""

    def __init__(self, source: Source):
        self._source = source
        self._settings: list[Setting] = []  # the last comes first
        self._in_file: list[SceneProblem] = []
        self._in_settings: list[tuple[str, str]] = []

    def at_key(self, path: KeyPath, message: str) -> None:
        """Report a problem with the entry itself: it is unknown, or a key in it is missing."""
        self._add(path, self._source.source_map.of_key(path), message)

    def at_value(self, path: KeyPath, message: str) -> None:
        """Report a problem with the value of a known entry."""
        self._add(path, self._source.source_map.of_value(path), message)

    def applied(self, setting: Setting) -> None:
        """Report problems with the entry that this `--set` assigned as problems of the option, not of the file."""
        self._settings.insert(0, setting)

    def in_setting(self, setting: Setting, message: str) -> None:
        """Report a `--set` that cannot be applied, or has a wrong value."""
        self._in_settings.append((f"--set {setting.text}", message))

    def raise_any(self) -> None:
        """Raises `SceneError` with everything found, or `InputError` if only a `--set` is wrong."""
        if self._in_file:
            in_settings = [SceneProblem(1, 1, option, message) for option, message in self._in_settings]
            problems = sorted([*in_settings, *self._in_file], key=lambda problem: (problem.line, problem.column))
            raise SceneError(self._source.path, problems)
        if self._in_settings:
            raise InputError("\n".join(f"{option}: {message}" for option, message in self._in_settings))

    def _add(self, path: KeyPath, position: tuple[int, int], message: str) -> None:
        for setting in self._settings:
            if self._assigned(setting, path):
                return self.in_setting(setting, message)
        self._in_file.append(SceneProblem(*position, dotted(path), message))

    def _assigned(self, setting: Setting, path: KeyPath) -> bool:
        """Whether the setting assigned the entry at `path`: a part of its value, or a table that is not in the file."""
        within = path[: len(setting.path)] == setting.path
        around = bool(path) and setting.path[: len(path)] == path and path not in self._source.source_map.keys
        return within or around
