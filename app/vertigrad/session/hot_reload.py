"""`HotReload`: commands that reload the files of the running scene when a `FileWatcher` found them edited."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .. import resources
from ..errors import InputError
from ..gpu import shader
from ..gpu.plan import replace_kernels
from ..renderer.pipelines import replace_draw_shaders
from ..scene.renamed import renewed
from .command import Command, command

if TYPE_CHECKING:
    from .session import Session

EVERY = 0.1  # seconds between checks
DELAY = 0.1  # seconds without a change, after which a file is considered complete
EMPTY_DELAY = 1.0  # the same for one that is empty or missing: editors truncate a file, or rename another one


class HotReload:
    """While `on`, watches the scene's file, the shaders in use and the files of models.

    Where a shader fails, the last good version stays in use; `broken` has its text, by name, until it is fixed.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.on = False
        self.broken: dict[str, str] = {}
        self._watcher = FileWatcher(now)

    def commands(self, session: Session) -> Iterator[Command]:
        """The commands for the files that were written since the last call."""
        if not (self.on and self._watcher.due):
            return
        scene, source = session.scene.path, session.running.source.path  # which may be a link to it
        shaders = {resources.root() / "shaders" / name: name for name in shader.used()}
        written = self._watcher.written({scene, source, *shaders, *session.stage.files()})
        if scene in written or source in written:
            yield ReloadScene()
        if edited := [shaders[file] for file in written if file in shaders]:
            yield ReloadShaders(tuple(edited))
        for file in written:
            if file not in (scene, source) and file not in shaders:
                yield ReloadFile(file)

    def reload_shaders(self, session: Session, names: Collection[str]) -> None:
        """Reload shader files that were written; those that failed before are retried with them.

        Raises `ShaderError`, `InputError`, and what a layer raises; then the previous shaders stay in use.
        """
        for name in names:
            text = _read(name)
            if text == shader.used()[name]:
                self.broken.pop(name, None)
            else:
                self.broken[name] = text
        try:
            _replace(session, self.broken)
        except Exception:
            alone = {name: self.broken[name] for name in names if name in self.broken}
            if alone.keys() != self.broken.keys():
                _replace(session, alone)
                for name in alone:
                    del self.broken[name]
            raise
        self.broken.clear()


@command("scene")
def ReloadScene(session: Session) -> None:
    """Reload the scene's file, unless it has the text that was read or saved last."""
    path = session.running.source.path
    if path.resolve() != session.scene.path or not _has_text(path, session.scene.source_map.text):
        session.reload()


@command("shaders")
def ReloadShaders(session: Session, names: tuple[str, ...]) -> None:
    """Reload shader files that were written."""
    session.hot_reload.reload_shaders(session, names)


@command("file {file}")
def ReloadFile(session: Session, file: Path) -> None:
    """Reload a file that models were built from. Raises as `Session.reload` and `Stage.reload_file`."""
    if file in session.stage.sources():
        session.reload()
    elif session.stage.reload_file(file):
        session.running.rebuilt()
    session.clock.code_changed()


def _replace(session: Session, texts: Mapping[str, str]) -> None:
    """Replace the texts of shader files. Raises as `reload_shaders`; then nothing has changed."""
    files = shader.dependents(texts.keys())
    gpu, bind = session.gpu, session.stage.rebind
    try:
        with shader.replaced(texts):
            replace_draw_shaders(gpu, files, bind)
            changed = replace_kernels(files)
    except BaseException:
        replace_draw_shaders(gpu, files, bind)
        raise
    if changed:
        session.clock.code_changed()


def _read(name: str) -> str:
    try:
        return resources.shader(name)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"shaders/{name}: cannot be read: {error}") from error


def _has_text(file: Path, text: str) -> bool:
    try:
        return renewed(file.read_text(encoding="utf-8").removeprefix("\ufeff")) == text
    except (OSError, UnicodeDecodeError):
        return False


_FileState = tuple[int, int, int] | None  # when it was changed, its bytes and its inode; None if it does not exist


class FileWatcher:
    """Polls the files, rather than using notifications: that works on every file system, and costs some µs."""

    def __init__(self, now: Callable[[], float] = time.monotonic):
        self._now = now
        self._known: dict[Path, _FileState] = {}
        self._changed: dict[Path, tuple[_FileState, float]] = {}  # state, and since when
        self._checked = -EVERY

    @property
    def due(self) -> bool:
        """Whether it is time for another check."""
        return self._now() - self._checked >= EVERY

    def written(self, files: Collection[Path]) -> list[Path]:
        """Those of `files` that were written, removed or created since the last call, and are complete now."""
        if not self.due:
            return []
        self._checked = now = self._now()
        for gone in self._known.keys() - files:
            del self._known[gone]
            self._changed.pop(gone, None)
        return [file for file in files if self._is_written(file, now)]

    def _is_written(self, file: Path, now: float) -> bool:
        state = _file_state(file)
        if self._known.setdefault(file, state) == state:
            self._changed.pop(file, None)
            return False
        previous, since = self._changed.get(file, (state, None))
        if since is None or previous != state:
            self._changed[file] = state, now
            return False
        if now - since < (DELAY if state and state[1] else EMPTY_DELAY):
            return False
        self._known[file] = state
        del self._changed[file]
        return True


def _file_state(file: Path) -> _FileState:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
