"""`opening`: a session whose scene is still being read, for a window that opens at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from .. import params
from ..gpu import Gpu
from ..models import Model
from ..models.data.file_model import FileContent, FileModel
from ..scene.edit import literal
from ..scene.schema import VERSION
from .loading import Loading
from .running import SceneSource
from .session import Session


class Nothing(FileModel):
    """Has no outputs: a scene needs a model."""

    Params = params.Params
    output_docs: ClassVar[Mapping[str, str]] = {}

    @staticmethod
    def read(params: Any) -> FileContent:
        return FileContent({})


class EmptyScene:
    """A scene without layers, under a title."""

    def __init__(self, title: str):
        self.model_types: Mapping[str, type[Model]] = {"nothing": Nothing}
        self.opened: Collection[str] = ()
        self.text = f'version = {VERSION}\ntitle = {literal(title)}\n[models.nothing]\ntype = "nothing"\n'


def opening(gpu: Gpu, path: Path, sets: Sequence[str] = (), seed: int | None = None) -> Session:
    """A session that shows nothing until the files of the scene `path` were read by a thread, then that scene.

    What is wrong with the scene is shown as for one that is dropped on the window.
    """
    source = SceneSource(path.absolute(), tuple(sets), seed)
    empty = source.path.with_name(f"{path.name} (opening).toml")
    session = Session(gpu, SceneSource(empty, memory=EmptyScene(path.name)))
    session.loading = Loading(source, session.sizes, session.open)
    return session
