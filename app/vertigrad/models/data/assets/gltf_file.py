"""`GltfFile`: the JSON and the buffers of a .gltf or .glb file, and the arrays that its accessors describe."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np
from pydantic import ValidationError

from ....errors import InputError
from .files import neighbor
from .gltf_schema import Accessor, BufferView, Gltf

READ = (  # extensions
    *("KHR_texture_transform", "KHR_materials_unlit", "KHR_materials_emissive_strength", "KHR_mesh_quantization"),
    *("KHR_materials_clearcoat", "KHR_materials_ior", "KHR_materials_transmission", "KHR_materials_volume"),
    *("KHR_lights_punctual", "EXT_texture_webp"),
)
ADVICE = {  # for extensions that are required by many files
    **dict.fromkeys(
        ("KHR_draco_mesh_compression", "EXT_meshopt_compression"),
        "export it without mesh compression, or decompress it with a program for glTF",
    ),
    "KHR_texture_basisu": "export it with textures in PNG, JPEG or WebP",
}
LARGEST = 1 << 31  # bytes of an array that a file may describe; more than it holds itself, where it has no buffer
MAGIC, JSON, BINARY = 0x46546C67, 0x4E4F534A, 0x004E4942  # of a GLB and of its chunks
DTYPES = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
SIGNED = {"i1": 127.0, "u1": 255.0, "i2": 32767.0, "u2": 65535.0}  # values of normalized integers that mean 1

T = TypeVar("T")


class GltfFile:
    """A .gltf or .glb file. Raises `InputError`, as all methods do, for what is damaged or cannot be read."""

    def __init__(self, path: Path):
        self.path = path
        text, self._binary = _chunks(path)
        try:
            self.json = Gltf.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "its JSON"
            raise self.error(f"damaged: {where}: {first['msg']}") from error
        self._buffers: dict[int, memoryview] = {}
        self._refuse()

    def error(self, problem: str) -> InputError:
        """The error for a problem of the file."""
        return InputError(f"{self.path}: {problem}")

    def item(self, items: Sequence[T], at: int, what: str) -> T:
        """One of a list of the JSON."""
        if at >= len(items):
            raise self.error(f"damaged: {what} {at} is not there; the file has {len(items)}")
        return items[at]

    @cached_property
    def extensions_left_out(self) -> list[str]:
        """The names of extensions that are used, but neither required nor read."""
        return sorted(set(self.json.extensions_used) - set(READ))

    def array(self, at: int, kinds: Sequence[str], where: str, integers: bool = False) -> np.ndarray:
        """The array of accessor `at`, (count, components), of one of the types `kinds`.

        Floats are finite; normalized integers become floats, others too unless `integers` are expected. `where`
        names its use.
        """
        accessor = self.item(self.json.accessors, at, "accessor")
        if accessor.type not in kinds:
            raise self.error(f"damaged: {where} is of type {accessor.type}, not {' or '.join(kinds)}")
        values = self._elements(accessor, where)
        if integers:
            if values.dtype.kind != "u":
                raise self.error(f"damaged: {where} must be unsigned integers")
            return values
        if values.dtype.kind == "f":
            if not np.isfinite(values).all():
                raise self.error(f"damaged: {where} has values that are not finite numbers")
            return values.astype(np.float32)
        floats = values.astype(np.float32)
        if not accessor.normalized:
            return floats
        if values.dtype.str[1:] not in SIGNED:
            raise self.error(f"damaged: {where} is normalized, but has 32 bits")
        return np.maximum(floats / np.float32(SIGNED[values.dtype.str[1:]]), np.float32(-1.0))

    def count(self, at: int) -> int:
        """The number of elements of an accessor."""
        return self.item(self.json.accessors, at, "accessor").count

    def view(self, at: int, where: str) -> memoryview:
        """The bytes of a buffer view."""
        view = self.item(self.json.buffer_views, at, "bufferView")
        data = self._buffer(view.buffer)
        if view.byte_offset + view.byte_length > len(data):
            raise self.error(
                f"damaged: {where}: bufferView {at} ends at byte {view.byte_offset + view.byte_length:,}, its buffer "
                f"has {len(data):,}"
            )
        return data[view.byte_offset : view.byte_offset + view.byte_length]

    def resource(self, uri: str, where: str) -> bytes:
        """The bytes of a data URI, or of a file in the folder of this one or below."""
        if uri.startswith("data:"):
            head, comma, body = uri.partition(",")
            if not comma or not head.endswith(";base64"):
                raise self.error(f"damaged: {where}: a data URI without base64")
            try:
                return base64.b64decode(body, validate=True)
            except binascii.Error as error:
                raise self.error(f"damaged: {where}: a data URI that is not base64 ({error})") from error
        return neighbor(self.path, uri, where)

    def _refuse(self) -> None:
        """What is required but not read."""
        version = self.json.asset.version
        if self.json.asset.min_version.split(".")[0] != "2" or version.split(".")[0] != "2":
            raise self.error(f"version {version!r} of glTF is not read, only 2.0; export it as that")
        unread = sorted(set(self.json.extensions_required) - set(READ))
        if unread:
            advice = next((ADVICE[name] for name in unread if name in ADVICE), "export it without")
            raise self.error(f"requires {', '.join(unread)}, which is not read; {advice}")

    def _elements(self, accessor: Accessor, where: str) -> np.ndarray:
        if accessor.type not in COMPONENTS:
            raise self.error(f"damaged: {where} is of type {accessor.type}")
        dtype, components = np.dtype(DTYPES[accessor.component_type]), COMPONENTS[accessor.type]
        size = dtype.itemsize * components
        if accessor.count * max(size, 4 * components) > LARGEST:
            raise self.error(f"{where} has {accessor.count:,} elements; at most {LARGEST:,} bytes are read")
        if accessor.buffer_view is None:
            values = np.zeros((accessor.count, components), dtype) if accessor.sparse else None
            if values is None:
                raise self.error(f"damaged: {where} has no values")
        else:
            view = self.item(self.json.buffer_views, accessor.buffer_view, "bufferView")
            values = self._strided(accessor.buffer_view, view, accessor.byte_offset, accessor.count, dtype, components)
        return self._with_sparse(accessor, values, dtype, components, where)

    def _strided(
        self, at: int, view: BufferView, offset: int, count: int, dtype: np.dtype, components: int
    ) -> np.ndarray:
        data, size = self.view(at, "an accessor"), dtype.itemsize * components
        stride = view.byte_stride or size
        if stride < size or offset + (count - 1) * stride + size > len(data):
            raise self.error(
                f"damaged: an accessor of {count:,} elements, {stride} bytes apart, does not fit into bufferView {at}"
            )
        strides = (stride, dtype.itemsize)
        return np.ndarray((count, components), dtype, data, offset, strides)

    def _with_sparse(
        self, accessor: Accessor, values: np.ndarray, dtype: np.dtype, components: int, where: str
    ) -> np.ndarray:
        sparse = accessor.sparse
        if sparse is None:
            return values
        if sparse.count > accessor.count:
            raise self.error(f"damaged: {where} has more sparse values than values")
        views, indices = self.json.buffer_views, sparse.indices
        kind, at = np.dtype(DTYPES[indices.component_type]), indices.buffer_view
        view = self.item(views, at, "bufferView")
        rows = self._strided(at, view, indices.byte_offset, sparse.count, kind, 1)[:, 0]
        at = sparse.values.buffer_view
        view = self.item(views, at, "bufferView")
        changed = self._strided(at, view, sparse.values.byte_offset, sparse.count, dtype, components)
        if rows.max() >= accessor.count:
            raise self.error(f"damaged: {where} has a sparse value beyond its {accessor.count:,} values")
        values = values.copy()
        values[rows] = changed
        return values

    def _buffer(self, at: int) -> memoryview:
        if at not in self._buffers:
            buffer = self.item(self.json.buffers, at, "buffer")
            if buffer.uri is not None:
                data = memoryview(self.resource(buffer.uri, f"buffer {at}"))
            elif at == 0 and self._binary is not None:
                data = self._binary
            else:
                raise self.error(f"damaged: buffer {at} has no bytes")
            if len(data) < buffer.byte_length:
                raise self.error(f"damaged: buffer {at} has {len(data):,} bytes, not {buffer.byte_length:,}")
            self._buffers[at] = data[: buffer.byte_length]
        return self._buffers[at]


def _chunks(path: Path) -> tuple[bytes, memoryview | None]:
    """The JSON, and the binary chunk of a GLB."""
    data = path.read_bytes()
    if data[:4] != struct.pack("<I", MAGIC):
        if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            raise InputError(f"{path}: neither JSON nor a GLB")
        return data.removeprefix(b"\xef\xbb\xbf"), None
    if len(data) < 20:
        raise InputError(f"{path}: damaged: it ends in the header of a GLB")
    _, version, length = struct.unpack_from("<3I", data)
    if version != 2:
        raise InputError(f"{path}: version {version} of GLB is not read, only 2")
    if length > len(data):
        raise InputError(f"{path}: damaged: it ends after {len(data):,} of its {length:,} bytes")
    found: dict[int, memoryview] = {}
    at, whole = 12, memoryview(data)
    while at + 8 <= length:
        size, kind = struct.unpack_from("<2I", data, at)
        if at + 8 + size > length:
            raise InputError(f"{path}: damaged: a chunk ends behind the file")
        found.setdefault(kind, whole[at + 8 : at + 8 + size])
        at += 8 + size
    if JSON not in found:
        raise InputError(f"{path}: damaged: a GLB without JSON")
    return bytes(found[JSON]), found.get(BINARY)
