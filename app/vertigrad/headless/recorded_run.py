"""`RecordedRun`: tensors of each frame of a run, as a recording that opens as a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..errors import InputError
from ..models.data.recording_file import Recorded, RecordedTensor, RecordingWriter
from ..params import unknown
from ..scene.schema import OutputRef
from ..session import STEP, Session
from ..tensor import Tensor
from .run_files import RunFile

DTYPES = ("f32", "f16", "i32", "u32")


class RecordedRun(RunFile):
    """The outputs called `names` after each frame whose number, from 1, is a multiple of `every`; the run has `frames`.

    By default all outputs that layers draw. Raises `InputError` for names that the scene does not have.
    """

    def __init__(self, path: Path, session: Session, names: Sequence[str], frames: int, every: int = 1):
        self._path, self._every = path, every
        self._names = list(names) or drawn(session)
        tensors = {name: _described(name, tensor) for name, tensor in self._outputs(session).items()}
        interval = every * STEP * session.speed
        source, scene = session.source, session.scene
        text = scene.source_map.text
        recorded = Recorded(scene.title, interval, interval, text, source.sets, source.seed, __version__)
        self._writer = RecordingWriter(path, tensors, recorded, max(1, frames // every))

    def wants(self, frame: int, last: int) -> bool:
        return (frame + 1) % self._every == 0

    def add(self, session: Session, frame: int) -> None:
        self._writer.add({name: tensor.numpy() for name, tensor in self._outputs(session).items()})

    def close(self) -> None:
        """Complete the file."""
        self._writer.close()

    def discard(self) -> None:
        """End without a file."""
        self._writer.discard()

    def _outputs(self, session: Session) -> dict[str, Tensor]:
        known = {
            f"{model}.{name}": tensor
            for model, instance in session.stage.instances.items()
            for name, tensor in instance.outputs.items()
        }
        if missing := [name for name in self._names if name not in known]:
            raise InputError(f"{self._path}: {unknown('output', missing[0], known)}")
        return {name: known[name] for name in self._names}


def drawn(session: Session) -> list[str]:
    """The outputs that the layers of a scene draw. Raises `InputError` if there are none."""
    values = [value for layer in session.scene.layers.values() for value in layer.attributes.values()]
    found = list(dict.fromkeys(str(value) for value in values if isinstance(value, OutputRef)))
    if not found:
        raise InputError("no layer draws an output of a model; name what to record with --tensor MODEL.OUTPUT")
    return found


def _described(name: str, tensor: Tensor) -> RecordedTensor:
    if tensor.dtype.name not in DTYPES or not tensor.size:
        raise InputError(f"{name}: has {tensor.dtype} of the shape {tensor.shape}; {', '.join(DTYPES)} are recorded")
    return RecordedTensor(tuple(tensor.shape), tensor.dtype.name)
