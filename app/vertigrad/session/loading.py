"""`Loading`: a scene whose files are read by a thread and uploaded a part in each frame, while another one is shown."""

from __future__ import annotations

import logging
import threading
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import VertigradError
from ..models.data.file_model import FileModel
from ..models.data.uploads import Upload
from ..models.data.volume_formats import zarr_volume
from ..progress import Cancelled, Progress
from ..scene import Scene
from ..scene.code import named_files
from ..scene.kinds import DATA
from .running import SceneSource
from .sizing import Sizes

if TYPE_CHECKING:
    from .session import Session

LARGE = 8 << 20  # bytes of files from which on they are read in the background
BUDGET = 32 << 20  # bytes that are uploaded in a frame
JOBS = 0.004  # seconds of a frame in which jobs of the thread are started
UPLOADING = 0.2  # part of the whole that uploads count for

_log = logging.getLogger("vertigrad")


class Loading:
    """A scene on its way. `progress` says how far it is; `proceed` once a frame; `result` has the scene in the end.

    `close` it after the scene was built, or to cancel it: then its thread ends with the piece that it is reading.
    """

    def __init__(self, source: SceneSource, sizes: Sizes):
        self.source = source
        self.progress = Progress()
        self.progress.has_worker = True
        self._sizes, self._began = sizes, time.perf_counter()
        self._scene: Scene | None = None
        self._error: BaseException | None = None
        self._upload: Upload | None = None
        self._thread = threading.Thread(target=self._read, name="reading a scene", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The file that is opened."""
        return self.source.path

    @property
    def fraction(self) -> float:
        """How much of reading and uploading is done."""
        if self._upload is None:
            return (1.0 - UPLOADING) * self.progress.fraction
        return 1.0 - UPLOADING * (1.0 - self._upload.done / max(self._upload.total, 1))

    def proceed(self) -> bool:
        """Upload a part of what was read; returns whether the scene can be built. Raises what reading raised."""
        if self._thread.is_alive():
            self.progress.run_jobs(JOBS)
            return False
        if self._error is not None:
            raise self._error
        if self._upload is None:
            self._upload = Upload(self._arrays())
            self.progress.what = f"uploading {self.path.name}"
        return self._upload.proceed(BUDGET)

    def result(self) -> Scene:
        """The scene, sized for the adapter."""
        assert self._scene is not None, "it is asked for when `proceed` has ended"
        _log.info("%s: read in %.1f s", self.path.name, time.perf_counter() - self._began)
        return self._sizes.settled(self._scene)

    def close(self) -> None:
        """Stop, and release what no model has taken. Idempotent."""
        self.progress.cancelled = True
        if self._upload is not None:
            self._upload.close()

    def _read(self) -> None:
        try:
            with self.progress.followed():
                self.progress.what = f"reading {self.path.name}"
                scene = self.source.load()
                for spec in scene.models.values():
                    if issubclass(spec.kind, FileModel):
                        spec.kind.read(spec.params)
                self._scene = scene
        except Cancelled:
            pass
        except Exception as error:  # whatever it is, it is raised where it is reported
            self._error = error

    def _arrays(self) -> Iterator[Any]:
        for spec in self._scene.models.values() if self._scene else ():
            if issubclass(spec.kind, FileModel):
                yield from spec.kind.read(spec.params).arrays.values()


def load(session: Session, path: Path) -> None:
    """Open another scene: at once, or when its large files were read, if this session reads ahead."""
    cancel(session)
    if session.reads_ahead and takes_long(path):
        session.loading = Loading(session.running.source.with_path(path), session.sizes)
    else:
        session.reload(path)


def cancel(session: Session) -> None:
    """Do not open the scene whose files are being read. Idempotent."""
    if session.loading is not None:
        session.loading.close()
        session.loading = None


def proceed(session: Session) -> None:
    """Upload a part of the scene that is being read, and open it if that was all. Errors are shown."""
    loading = session.loading
    if loading is None:
        return
    try:
        if not loading.proceed():
            return
        with session.allocations.loading():
            session.open(loading.source, loading.result())
            session.gpu.submit()
    except VertigradError as error:
        session.require_device(error)
        session.messages["scene"] = str(error)
    except Exception as error:
        session.fail(f"opening {loading.path.name}", error)
    cancel(session)


def takes_long(path: Path) -> bool:
    """Whether a scene's files are so large that they are better read in the background.

    Not for a scene with Python or networks of PyTorch: these are loaded by the thread that has the GPU.
    """
    try:
        if path.suffix.lower() in DATA:
            return _size(path) >= LARGE
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        models = values.get("models")
        if named_files(values, path.parent) or not isinstance(models, dict):
            return False
        named = [table.get("file") for table in models.values() if isinstance(table, dict)]
        return sum(_size(path.parent / name) for name in named if isinstance(name, str)) >= LARGE
    except (OSError, ValueError, VertigradError):
        return False  # it is reported when the scene is opened


def _size(path: Path) -> int:
    if zarr_volume.is_volume(path):
        return sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file())
    if path.is_dir():
        return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
    return path.stat().st_size if path.is_file() else 0
