"""Commands that write what was learned."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...errors import InputError, ParameterError
from ...params import unknown
from ...scene.save import write_whole
from ..files import new_file
from ..session import Session


class ExportNetwork(NamedTuple):
    """Write what a model has learned to a file of the kind that `suffix` or `path` says, one of its `exports`.

    To a new file if no path is named, of the one model that learns if `model` is empty.
    """

    suffix: str = ".safetensors"
    model: str = ""
    path: Path | None = None

    topic = "export"

    def apply(self, session: Session) -> None:
        name = learner(session, self.model)
        model = session.stage.instances[name].model
        suffix = self.path.suffix.lower() if self.path is not None else self.suffix
        if suffix not in model.exports:
            raise InputError(f"{name} is exported as {' or '.join(model.exports)}, not as {suffix or 'a bare name'}")
        if session.stage.in_progress is not None:
            session.stage.cancel()
            session.clock.stale = True  # what is shown may have been on its way
        content = model.export(suffix)
        path = self.path or new_file(f"{session.scene.path.stem}-{name}", suffix)
        write_whole(path, content)
        session.written[self.topic] = path


def learner(session: Session, name: str = "") -> str:
    """The model of that name, or the one that learns. Raises `ParameterError` if there is none, or several."""
    found = [key for key, instance in session.stage.instances.items() if instance.model.exports]
    if name and name not in found:
        raise ParameterError(unknown("model that learns", name, found))
    if not found:
        raise ParameterError("no model of this scene learns anything that could be exported")
    if not name and len(found) > 1:
        raise ParameterError(f"several models learn: {', '.join(found)}; say which is to be exported")
    return name or found[0]
