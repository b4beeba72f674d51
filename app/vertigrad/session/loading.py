"""`Loading`: a scene read by a thread, and uploaded and built a part in each frame, while another one is shown."""

from __future__ import annotations

import logging
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import VertigradError
from ..models.data.file_model import FileModel
from ..models.data.uploads import Upload
from ..models.data.volume_formats import zarr_volume
from ..progress import Cancelled, Progress
from ..scene import Scene
from ..scene.code import named_files
from ..scene.kinds import DATA, NETWORKS
from ..slices import Sliced
from .running import SceneSource
from .sizing import Sizes

if TYPE_CHECKING:
    from .session import Session

LARGE = 8 << 20  # bytes of files from which on they are read in the background
LARGE_NETWORK = 1 << 20  # bytes of a network from which on it is
BUDGET = 32 << 20  # bytes that are uploaded in a frame
JOBS = 0.004  # seconds of a frame in which jobs of the thread are started
READ, UPLOADED = 0.8, 1.0  # how much of the whole is done then; the rest is building the models
NETWORK_READ, NETWORK_UPLOADED = 0.1, 0.15  # of a scene with a network, which takes long to build

_log = logging.getLogger("vertigrad")


class Loading:
    """A scene on its way. `what` and `fraction` say how far it is; `proceed` once a frame.

    `build` opens the scene when it was read and uploaded, and reports how far it is, if it takes several frames.
    `close` it in the end, or to cancel it: then its thread ends with the piece that it is reading.
    """

    def __init__(self, source: SceneSource, sizes: Sizes, build: Callable[[SceneSource, Scene], None]):
        self.source = source
        self.progress = Progress()
        self.progress.has_worker = True
        self._sizes, self._began = sizes, time.perf_counter()
        self._scene: Scene | None = None
        self._error: BaseException | None = None
        self._upload: Upload | None = None
        self._build = build
        self._building: Sliced[None] | None = None
        has_network = any(file.suffix.lower() in NETWORKS for file in _files(source.path))
        self._read_at, self._uploaded_at = (NETWORK_READ, NETWORK_UPLOADED) if has_network else (READ, UPLOADED)
        self._thread = threading.Thread(target=self._read, name="reading a scene", daemon=True)
        self._thread.start()

    @property
    def path(self) -> Path:
        """The file that is opened."""
        return self.source.path

    @property
    def fraction(self) -> float:
        """How much of reading, uploading and building is done."""
        if self._upload is None:
            return self._read_at * self.progress.fraction
        if self._building is None:
            done = self._upload.done / max(self._upload.total, 1)
            return self._read_at + (self._uploaded_at - self._read_at) * done
        return self._uploaded_at + (1.0 - self._uploaded_at) * self._building.progress.fraction

    @property
    def what(self) -> str:
        """The current activity, such as "reading scan.las"."""
        built = self._building.progress.what if self._building is not None else ""
        return built or self.progress.what

    def proceed(self) -> bool:
        """Upload or build a part of the scene; returns whether it is open. Raises what reading and building raise."""
        if self._thread.is_alive():
            self.progress.run_jobs(JOBS)
            return False
        if self._error is not None:
            raise self._error
        if self._upload is None:
            self._upload = Upload(self._arrays())
            self.progress.what = f"uploading {self.path.name}"
        if self._building is None:
            if not self._upload.proceed(BUDGET):
                return False
            _log.info("%s: read in %.1f s", self.path.name, time.perf_counter() - self._began)
            self._building = Sliced(self._open)
        return self._building.proceed()

    def _open(self) -> None:
        assert self._scene is not None
        self._build(self.source, self._sizes.settled(self._scene))

    def close(self) -> None:
        """Stop, and release what was built and what no model has taken. Idempotent."""
        self.progress.cancelled = True
        if self._building is not None:
            self._building.close()
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
        session.loading = Loading(session.running.source.with_path(path), session.sizes, session.open)
    else:
        session.reload(path)


def cancel(session: Session) -> None:
    """Do not open the scene that is being read or built. Idempotent."""
    loading, session.loading = session.loading, None
    if loading is not None:
        loading.close()
        session.gpu.submit()


def restart(session: Session) -> None:
    """Begin again with the scene that is being read or built: the device that had parts of it was lost."""
    loading = session.loading
    if loading is not None:
        with suppress(VertigradError):
            cancel(session)
        session.loading = Loading(loading.source, session.sizes, session.open)


def proceed(session: Session) -> None:
    """Upload or build a part of the scene that was read. Errors are shown."""
    loading = session.loading
    if loading is None:
        return
    try:
        with session.changing():
            if not loading.proceed():
                return
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
    sizes = {file: _size(file) for file in _files(path)}
    networks = sum(size for file, size in sizes.items() if file.suffix.lower() in NETWORKS)
    return sum(sizes.values()) >= LARGE or networks >= LARGE_NETWORK


def _files(path: Path) -> Sequence[Path]:
    """The files of the models of a scene without Python; what is wrong with it is reported when it is opened."""
    if path.suffix.lower() in DATA:
        return [path]
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
        models = values.get("models")
        if named_files(values, path.parent) or not isinstance(models, dict):
            return []
    except (OSError, ValueError, VertigradError):
        return []
    named = [table.get("file") for table in models.values() if isinstance(table, dict)]
    return [path.parent / name for name in named if isinstance(name, str)]


def _size(path: Path) -> int:
    try:
        if zarr_volume.is_volume(path):
            return sum(file.stat().st_size for file in path.parent.rglob("*") if file.is_file())
        if path.is_dir():
            return sum(file.stat().st_size for file in path.iterdir() if file.is_file())
        return path.stat().st_size if path.is_file() else 0
    except (OSError, ValueError, VertigradError):
        return 0  # it is reported when the scene is opened
