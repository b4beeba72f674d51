"""`scene_path`: the file that a name of a scene means."""

from __future__ import annotations

import os
from pathlib import Path

from .. import resources
from ..errors import InputError
from ..params import hint, with_hint
from .kinds import DATA, require_scene


def data_file(path: Path) -> Path:
    """What is opened of a folder: the first slice of DICOM files, or the description of a recording (.zarr).

    Every other path as it is.
    """
    if not os.path.isdir(path):  # Path's own raises for a name that is too long
        return path
    from ..models.data import recording_file, volume_file

    try:
        if path.suffix.lower() == recording_file.FOLDER and (path / recording_file.DESCRIPTION).is_file():
            return path / recording_file.DESCRIPTION
        return volume_file.first_slice(path) or path
    except OSError:
        return path


def scene_path(name: str) -> Path:
    """The file that `name` means: a path, or the name of a packaged scene. The loader says if there is none.

    Raises `InputError` for a name that is neither, with the nearest one.
    """
    path = data_file(Path(name))
    packaged = {scene.stem: scene for scene in resources.scenes()}
    if path.suffix.lower() in DATA:
        require_scene(path)
    if os.path.isfile(path):  # Path's own raises for a name that is too long
        return path
    if name in packaged:
        return packaged[name]
    if path.name == name and not os.path.lexists(path):
        if path.stem in packaged:
            raise InputError(f'{name}: there is no such file; the scene that comes with Vertigrad is "{path.stem}"')
        if not path.suffix:
            known = hint(name, packaged)
            raise InputError(with_hint(f"{name}: neither a file nor a scene that comes with Vertigrad", known))
    return path
