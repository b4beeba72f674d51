"""`Sweep`: a scene and what is varied in it, checked, and the jobs of its points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import InputError, ParameterError
from ..params import ParamSpec, unknown
from ..results import Definition
from ..results.scene_files import fingerprints
from ..scene import Scene, load, trust
from ..scene.files import find
from ..scene.settings import path_in
from ..session.parameters import as_read, is_setting, key_at, spec_of
from ..session.sizing import autos
from .axes import Axis, setting
from .designs import Point
from .fingerprint import digest_of, key_of, scene_files, seed_of
from .job import Job, Work

CHECKED = 32  # values of each axis that are checked before the first run, besides the last


@dataclass(frozen=True)
class Sweep:
    """Runs of one scene: `work` is what they have in common, `axes` what is varied, `fixed` the other settings.

    `seed` is the one from which those of the runs are derived, or with `common_seed` that of all runs.
    """

    work: Work
    scene: Scene
    axes: tuple[Axis, ...]
    fixed: tuple[str, ...]
    seed: int | None
    common_seed: bool

    @classmethod
    def of(cls, work: Work, axes: Sequence[Axis], fixed: Sequence[str], seed: int | None, common_seed: bool) -> Sweep:
        """Read the scene, and check the names and values of what is varied. Uses no GPU. Raises as `load`."""
        scene = load(work.scene, sets=fixed, seed=seed)
        checked = tuple(axis.for_spec(_spec(scene, axis.name)) for axis in axes)
        for axis in checked:
            values = [*axis.values[:CHECKED], *axis.values[-1:]] if axis.values else [axis.at(0.0), axis.at(1 - 1e-9)]
            for value in values:
                load(work.scene, sets=[*fixed, setting(axis.name, value)], seed=seed)
        files = tuple(dict.fromkeys([*scene_files(scene), *work.files]))
        trusted = {file: trust.digest(file) for file in files if trust.is_trusted(file)}  # by `load`, if it is code
        found = replace(work, scene=scene.path, files=files, digest=digest_of(files), trusted=trusted)
        return cls(found, scene, checked, tuple(fixed), seed, common_seed)

    @property
    def is_automatic(self) -> bool:
        """Whether the scene leaves a count to the adapter, by "auto"."""
        return any(autos(spec.params) for spec in self.scene.models.values())

    def with_settings(self, sets: Sequence[str]) -> Sweep:
        """The same with further settings, which hold for all runs."""
        return replace(self, fixed=(*self.fixed, *sets))

    def job(self, point: Mapping[str, Any], repeat: int = 0) -> Job:
        """The run of a point; those of one point differ in the seed. Raises `InputError`."""
        sets = (*self.fixed, *(setting(name, value) for name, value in point.items()))
        seed = self.seed if self.common_seed and not repeat else seed_of(self.seed or 0, sets, repeat)
        parts = {
            **self._parts(sets),
            "files": [digest_of([file]) for file in self._files(point)],
            "seed": seed,
        }
        return Job(self.work, key_of(parts), dict(point), sets, seed)

    @property
    def identity(self) -> str:
        """A key of what all runs have in common, and of what is varied."""
        axes = [str(axis) for axis in self.axes]
        return key_of({**self._parts(self.fixed), "axes": axes, "seed": self.seed, "common": self.common_seed})

    def _parts(self, sets: Sequence[str]) -> dict[str, Any]:
        work = self.work
        return {
            **({"gradient": work.gradient_of} if work.gradient_of else {}),
            "scene": work.digest,
            "sets": sorted(sets),
            "frames": work.frames,
            "size": work.size,
            "camera": work.camera,
            "outcomes": sorted(outcome.identity for outcome in work.outcomes),
            "stop_on_nan": work.stop_on_nan,
        }

    def jobs(self, points: Sequence[Point], repeats: int) -> Iterator[Job]:
        """The runs of a design, `repeats` of each point."""
        return (self.job(point, repeat) for point in points for repeat in range(repeats))

    def definition(self, parameters: Sequence[str], keys: Sequence[str] = (), **others: Any) -> Definition:
        """What the folder of the results says of it."""
        return Definition(
            scene=str(self.work.scene),
            title=self.scene.title,
            scene_digest=self.work.digest,
            parameters=tuple(parameters),
            frames=self.work.frames,
            size=self.work.size,
            camera=self.work.camera,
            keys=tuple(keys),
            vertigrad=__version__,
            files=fingerprints(self.work.files),
            **others,
        )

    def _files(self, point: Mapping[str, Any]) -> list[Path]:
        """Files that the values of a point name."""
        named = [value for name, value in point.items() if (spec := _spec(self.scene, name)) and spec.kind == "file"]
        try:
            return [find(str(value), self.scene.path.parent) for value in named]
        except ParameterError:
            return []  # the run fails, and its row has the reason


def _spec(scene: Scene, name: str) -> ParamSpec | None:
    """What is known of a parameter of the scene; None for an entry that is none, such as the camera's."""
    path = path_in(scene, f"{name}=0")
    if not path:
        raise InputError(f"--set {name}: expected NAME.PARAMETER=VALUES, such as galaxy.softening=0.1,0.2")
    owners, key = as_read(scene), key_at(path)
    if is_setting(key):
        return spec_of(owners, key)
    if path[0] == "models" and len(path) == 3 and path[1] not in scene.models:
        raise InputError(f"--set {name}: {unknown('model', str(path[1]), scene.models)}")
    return (
        next((spec for spec in owners[key.owner].specs() if spec.name == key.name), None)
        if key.owner in owners
        else None
    )
