"""Gathers what is wrong with a scene, so that all of it is told at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import InputError, Mistake, SceneError
from .locate import KeyPath, dotted
from .source import Source


@dataclass(frozen=True)
class Setting:
    """One `--set`: its text, and which entry gets which value. `path` is empty if the text says none."""

    text: str
    path: KeyPath = ()
    value: Any = None


class Mistakes:
    """The mistakes found so far: those of the file with their places, those of a `--set` with its text."""

    def __init__(self, source: Source):
        self._source = source
        self._settings: list[Setting] = []  # the last comes first
        self._in_file: list[Mistake] = []
        self._in_settings: list[tuple[str, str]] = []

    def at_key(self, path: KeyPath, message: str) -> None:
        """The entry itself is wrong: unknown, or something is missing in it."""
        self._add(path, self._source.places.of_key(path), message)

    def at_value(self, path: KeyPath, message: str) -> None:
        """The entry is known, but its value cannot be used."""
        self._add(path, self._source.places.of_value(path), message)

    def applied(self, setting: Setting) -> None:
        """From now on, what is wrong with the entry that this `--set` gave is its mistake, not the file's."""
        self._settings.insert(0, setting)

    def in_setting(self, setting: Setting, message: str) -> None:
        """A `--set` cannot be applied, or what it gave is wrong."""
        self._in_settings.append((f"--set {setting.text}", message))

    def raise_any(self) -> None:
        """Raises `SceneError` with everything found, or `InputError` if only a `--set` is wrong."""
        if self._in_file:
            in_settings = [Mistake(1, 1, option, message) for option, message in self._in_settings]
            found = sorted([*in_settings, *self._in_file], key=lambda mistake: (mistake.line, mistake.column))
            raise SceneError(self._source.path, found)
        if self._in_settings:
            raise InputError("\n".join(f"{option}: {message}" for option, message in self._in_settings))

    def _add(self, path: KeyPath, place: tuple[int, int], message: str) -> None:
        for setting in self._settings:
            if self._made(setting, path):
                return self.in_setting(setting, message)
        self._in_file.append(Mistake(*place, dotted(path), message))

    def _made(self, setting: Setting, path: KeyPath) -> bool:
        """Whether what is at `path` came with the setting: within its value, or a table that the file lacks."""
        within = path[: len(setting.path)] == setting.path
        around = bool(path) and setting.path[: len(path)] == path and path not in self._source.places.keys
        return within or around
