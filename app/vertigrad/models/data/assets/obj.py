"""Reads an OBJ file with its materials (MTL) and textures as an `Asset`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np

from ....errors import InputError
from ..mesh_file import split_at_creases
from .content import BLEND, CHANNEL, NONE, VERTEX, Asset, Map, Material, Motion, Part, Skeleton, rows
from .files import neighbor
from .images import TextureMaps
from .parts import MOST_VERTICES, PartArrays, PartsBuilder
from .tangents import with_tangents

CREASE = 40.0  # degrees: edges sharper than this are not smoothed, where the file has no normals
MAPS = {"map_kd": "base_color", "map_ke": "emissive", "norm": "normal", "map_kn": "normal"}
LEFT_OUT = ("map_bump", "bump", "disp", "map_d", "map_ks", "map_ns", "map_pr", "map_pm", "refl")
Corner = tuple[int, int, int]  # indices of a position, a texture coordinate and a normal; -1 without


def read(path: Path, texture_size: int) -> Asset:
    """All objects of the file. Raises `InputError`."""
    parsed = _Parsed(path)
    textures = TextureMaps(path, texture_size)
    notes: list[str] = []
    described: dict[str, dict[str, str]] = {}
    for library in parsed.libraries:
        described |= _materials(path, library)
    names = list(parsed.faces)
    materials = [_material(path, described.get(name, {}), textures, notes) for name in names]
    builder = PartsBuilder(path)
    for at, name in enumerate(names):
        arrays = _arrays(parsed, parsed.faces[name], at)
        if "normal" in materials[at].maps:
            arrays = with_tangents(arrays, materials[at].maps["normal"])
        builder.add(at, arrays, Part(0, 0, 0, 0, 0))
    pose = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 0], np.float32)
    identity = np.eye(3, 4)[None]
    skeleton = Skeleton(np.array([NONE], np.uint32), identity.copy(), pose, np.array([0], np.uint32), identity.copy())
    none = np.zeros(1, np.float32)
    return Asset(
        **builder.arrays(),
        skeleton=skeleton,
        motion=Motion((), rows([], CHANNEL, np.uint32), none, none),
        materials=materials,
        color_maps=textures.array(True),
        data_maps=textures.array(False),
        notes=notes,
    )


def libraries(path: Path) -> list[str]:
    """The names of the MTL files that an OBJ file names. Raises `InputError`."""
    try:
        with path.open("rb") as file:
            lines = [line for line in file if line[:6] == b"mtllib"]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    return [line[6:].decode("utf-8", "replace").strip() for line in lines]


class _Parsed:
    """The statements of an OBJ file: `faces` are triangles of corners, by the name of their material."""

    def __init__(self, path: Path):
        self._path = path
        self.faces: dict[str, list[np.ndarray]] = {}  # parts (n, 3, 3): the three indices of three corners
        self.libraries: list[str] = []
        self._vertices: dict[str, list[list[float]]] = {"v": [], "vt": [], "vn": []}
        self._material = ""
        statements = (line.strip().partition(" ")[::2] for line in path.read_text("utf-8", "replace").splitlines())
        number = 0
        for word, run in groupby(statements, key=lambda statement: statement[0]):
            lines = [rest for _, rest in run]
            if not self._add_many(word, lines):
                for offset, rest in enumerate(lines, 1):
                    try:
                        self._add(word, rest)
                    except ValueError as error:
                        raise InputError(f"{path}: damaged: line {number + offset}: {error}") from error
            number += len(lines)
        self.positions = self._table("v", 3)
        self.texcoords = self._table("vt", 2)
        self.normals = self._table("vn", 3)
        self.colors = self._colors()

    def _add(self, word: str, rest: str) -> None:
        """Add a statement; those that are not read are passed over."""
        if word in self._vertices:
            self._vertices[word].append([float(value) for value in rest.split()])
        elif word == "f":
            corners = [self._corner(corner) for corner in rest.split()]
            triangles = [(corners[0], one, other) for one, other in pairwise(corners[1:])]
            self._faces().append(np.array(triangles, np.int64).reshape(-1, 3, 3))
        elif word == "usemtl":
            self._material = rest.strip()
        elif word == "mtllib":
            self.libraries.append(rest.strip())

    def _add_many(self, word: str, lines: Sequence[str]) -> bool:
        """Add statements of one kind that follow each other; False, with nothing added, if `_add` has to."""
        try:
            if word in self._vertices:
                self._vertices[word] += [[float(value) for value in rest.split()] for rest in lines]
                return True
            corners = self._corners(" ".join(lines).split()) if word == "f" else None
        except (ValueError, OverflowError):  # `_add` says in which line
            return False
        if corners is None:
            return False
        counts = np.array([len(rest.split()) for rest in lines])
        triangles = np.maximum(counts - 2, 0)  # fans
        first = np.repeat(np.cumsum(counts) - counts, triangles)
        after = np.arange(len(first)) - np.repeat(np.cumsum(triangles) - triangles, triangles) + 1
        self._faces().append(corners[np.stack([first, first + after, first + after + 1], axis=1)])
        return True

    def _corners(self, words: Sequence[str]) -> np.ndarray | None:
        """Corners (n, 3) that all have the same indices; None for others, and for those that are not there."""
        slashes, is_double = {word.count("/") for word in words}, {"//" in word for word in words}
        if len(slashes) != 1 or len(is_double) != 1 or max(slashes) > 2:
            return None
        columns = (0, 2) if is_double == {True} else tuple(range(max(slashes) + 1))
        indices = np.array([int(text) for word in words for text in word.split("/") if text], np.int64)
        if indices.size != len(words) * len(columns):
            return None
        found = np.full((len(words), 3), -1)
        counts = np.array([len(rows) for rows in self._vertices.values()])[list(columns)]
        indices = indices.reshape(-1, len(columns))
        found[:, columns] = resolved = np.where(indices > 0, indices - 1, counts + indices)
        return found if ((resolved >= 0) & (resolved < counts)).all() else None

    def _faces(self) -> list[np.ndarray]:
        return self.faces.setdefault(self._material, [])

    def _corner(self, word: str) -> Corner:
        found = [-1, -1, -1]
        for at, (text, name) in enumerate(zip(word.split("/"), self._vertices, strict=False)):
            if not text:
                continue
            count, index = len(self._vertices[name]), int(text)
            found[at] = index - 1 if index > 0 else count + index
            if not 0 <= found[at] < count:
                raise ValueError(f"{name} {index} is not there; the file has {count} of them so far")
        if found[0] < 0:
            raise ValueError("a corner without a position")
        return found[0], found[1], found[2]

    def _table(self, name: str, columns: int) -> np.ndarray:
        values = self._vertices[name]
        if any(len(row) < columns for row in values):
            raise InputError(f"{self._path}: damaged: a {name} has fewer than {columns} numbers")
        table = np.array([row[:columns] for row in values], np.float64).reshape(-1, columns)
        if not np.isfinite(table).all() or np.abs(table).max(initial=0.0) > np.finfo(np.float32).max:
            raise InputError(f"{self._path}: damaged: a {name} has numbers that are not finite in float32")
        return table

    def _colors(self) -> np.ndarray | None:
        """Linear colors of vertices that have six numbers, as several programs write them in sRGB."""
        values = self._vertices["v"]
        if not values or any(len(row) < 6 for row in values):
            return None
        srgb = np.clip(np.nan_to_num(np.array([row[3:6] for row in values])), 0.0, 1.0)
        return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def _arrays(parsed: _Parsed, faces: Sequence[np.ndarray], material: int) -> PartArrays:
    corners = np.concatenate(faces).reshape(-1, 3)
    if len(corners) > MOST_VERTICES:
        raise InputError(f"more than {MOST_VERTICES:,} corners of triangles with one material")
    normals = parsed.normals
    if (corners[:, 2] < 0).any():
        used, index = np.unique(corners[:, 0], return_inverse=True)
        _, normals, triangles = split_at_creases(parsed.positions[used], index.reshape(-1, 3), CREASE)
        corners = np.stack([corners[:, 0], corners[:, 1], triangles.reshape(-1)], axis=1)
    unique, index = np.unique(corners, axis=0, return_inverse=True)
    vertices = np.zeros((len(unique), VERTEX), np.float32)
    vertices[:, :3], vertices[:, 3:6] = parsed.positions[unique[:, 0]], normals[unique[:, 2]]
    texcoords = np.zeros((len(unique), 4), np.float32)
    mapped = unique[:, 1] >= 0
    texcoords[mapped, :2] = parsed.texcoords[unique[mapped, 1]] * (1, -1) + (0, 1)  # v points up there
    colors = None
    if parsed.colors is not None:
        colors = np.ones((len(unique), 4), np.float32)
        colors[:, :3] = parsed.colors[unique[:, 0]]
    none = np.zeros((len(unique), 0))
    deltas = np.zeros((0, len(unique), 9), np.float32)
    triangles = index.reshape(-1, 3).astype(np.uint32)
    return PartArrays(
        vertices, texcoords, colors, triangles, material, none.astype(np.uint32), none.astype(np.float32), deltas
    )


def _materials(path: Path, library: str) -> dict[str, dict[str, str]]:
    """The statements of each material of an MTL file, in lower case."""
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in neighbor(path, library, "mtllib").decode("utf-8", "replace").splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "newmtl":
            current = found.setdefault(rest.strip(), {})
        elif word and word[0] != "#":
            current[word.lower()] = rest.strip()
    return found


def _material(path: Path, described: dict[str, str], textures: TextureMaps, notes: list[str]) -> Material:
    """Metal-rough: `Pr` and `Pm` where they are given, else the roughness of the highlight of `Ns`.

    An exponent n of Blinn and Phong has the width of GGX's square root of 2 / (n + 2) (Walter et al. 2007).
    """

    def number(name: str, default: float) -> float:
        return _numbers(path, described, name, [default])[0]

    alpha = min(max(number("d", 1.0 - number("tr", 0.0)), 0.0), 1.0)
    exponent = max(number("ns", 10.0), 0.0)
    maps = {}
    for word, name in MAPS.items():
        if described.get(word):
            file = described[word].split(" -")[-1].split()[-1] if described[word][0] == "-" else described[word]
            layer = textures.add(file, file, lambda file=file, word=word: neighbor(path, file, word), name != "normal")
            maps[name] = Map(layer)
    left_out = [word for word in LEFT_OUT if word in described]
    if left_out:
        notes.append(f"maps of the MTL that are not read: {', '.join(left_out)}")
    base = _numbers(path, described, "kd", [0.8, 0.8, 0.8] if not maps.get("base_color") else [1.0, 1.0, 1.0])
    emissive = _numbers(path, described, "ke", [0.0, 0.0, 0.0])
    return Material(
        base_color=(base[0], base[1], base[2], alpha),
        emissive=(emissive[0], emissive[1], emissive[2]),
        metallic=min(max(number("pm", 0.0), 0.0), 1.0),
        roughness=min(max(number("pr", (2.0 / (exponent + 2.0)) ** 0.25), 0.0), 1.0),
        alpha_mode=BLEND if alpha < 1.0 else 0,
        double_sided=True,
        maps=maps,
    )


def _numbers(path: Path, described: dict[str, str], name: str, default: list[float]) -> list[float]:
    if name not in described:
        return default
    try:
        found = [float(word) for word in described[name].split()[: len(default)]]
    except ValueError as error:
        raise InputError(f"{path}: damaged: {name} of a material is {described[name]!r}") from error
    if not np.isfinite(found).all() or not found:
        raise InputError(f"{path}: damaged: {name} of a material is {described[name]!r}")
    return found if len(found) == len(default) else [found[0]] * len(default)
