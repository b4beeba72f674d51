"""`UsdFile`: layers over time as a USD file with time samples, by the package usd-core."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from ..renderer.camera import OrbitCamera
from .geometry import Geometry

SUFFIXES = (".usd", ".usda", ".usdc")
APERTURE = 24.0  # millimeters: the height of a film frame; USD has focal lengths instead of fields of view
WIDE = 16 / 9  # the width of the image in heights
MISSING = (
    "USD files are written by usd-core, which is not installed; install it with pip install 'vertigrad[usd]', or write "
    "a .glb for each frame"
)


def require_usd(path: Path) -> None:
    """Raise `InputError` if the package usd-core is not installed."""
    try:
        import_module("pxr.Usd")
    except ImportError as error:
        raise InputError(f"{path}: {MISSING}") from error


class UsdFile:
    """Points, curves and meshes with a sample of positions, colors and others at each added frame, and the camera.

    Lengths are those of the scene, as meters. It is written to a file beside `path`, which it replaces when it is
    closed. Raises `InputError` without the package usd-core, and if the file cannot be written.
    """

    def __init__(self, path: Path, up: str, rate: float):
        require_usd(path)
        modules: list[Any] = [import_module(f"pxr.{name}") for name in ("Gf", "Sdf", "Tf", "Usd", "UsdGeom", "Vt")]
        self._gf, self._sdf, _, _, self._geom, self._vt = modules
        _, _, Tf, Usd, UsdGeom, _ = modules  # noqa: N806  their own names
        self._error, self._path = Tf.ErrorException, path
        self._temporary = path.with_name(f".{path.stem[:60]}.{os.urandom(6).hex()}{path.suffix}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stage: Any = Usd.Stage.CreateNew(str(self._temporary))
        except (OSError, self._error) as error:
            raise self._unwritable(error) from error
        UsdGeom.SetStageUpAxis(self._stage, UsdGeom.Tokens.y if up == "y" else UsdGeom.Tokens.z)
        UsdGeom.SetStageMetersPerUnit(self._stage, 1.0)
        self._stage.SetTimeCodesPerSecond(rate)
        self._stage.SetFramesPerSecond(rate)
        self._stage.SetDefaultPrim(UsdGeom.Xform.Define(self._stage, "/World").GetPrim())
        self._prims: dict[str, Any] = {}
        self._last_index: dict[str, np.ndarray] = {}
        self._frames: list[int] = []

    def add(self, frame: int, geometries: Sequence[Geometry], camera: OrbitCamera) -> None:
        """Add the samples of a frame."""
        self._frames.append(frame)
        for one in geometries:
            prim = self._prims.get(one.name)
            if prim is None:
                prim = self._prims[one.name] = self._defined(one)
            self._sample(prim, one, frame)
        self._sample_camera(camera, frame)

    def close(self) -> None:
        """Write the file. Idempotent."""
        if self._stage is None:
            return
        try:
            if self._frames:
                self._stage.SetStartTimeCode(self._frames[0])
                self._stage.SetEndTimeCode(self._frames[-1])
                self._stage.GetRootLayer().Save()
                self._stage = None
                os.replace(self._temporary, self._path)
        except (OSError, self._error) as error:
            raise self._unwritable(error) from error
        finally:
            self._stage = None
            self._temporary.unlink(missing_ok=True)

    def discard(self) -> None:
        """End without a file; what `path` was before stays. Idempotent."""
        self._stage = None
        self._temporary.unlink(missing_ok=True)

    # inside -------------------------------------------------------------------------------------------------------

    def _defined(self, one: Geometry) -> Any:
        """The prim for a layer: its name, in the characters that USD allows."""
        name = re.sub(r"\W", "_", one.name, flags=re.ASCII)
        path = f"/World/{name if not name[:1].isdigit() else '_' + name}"
        while self._stage.GetPrimAtPath(path):
            path += "_"
        kinds = {"points": self._geom.Points, "triangles": self._geom.Mesh, "lines": self._geom.BasisCurves}
        kinds["splats"] = self._geom.Points
        prim = kinds[one.kind].Define(self._stage, path)
        prim.GetPrim().SetDisplayName(one.name)
        if one.kind == "triangles":
            prim.CreateSubdivisionSchemeAttr(self._geom.Tokens.none)
            prim.CreateDoubleSidedAttr(True)
        if one.kind == "lines":
            prim.CreateTypeAttr(self._geom.Tokens.linear)
        return prim

    def _sample(self, prim: Any, one: Geometry, frame: int) -> None:
        vt = self._vt
        positions, colors, index = one.positions, one.linear_colors(), one.index
        if one.kind == "lines":
            assert index is not None
            rows = index.reshape(-1)  # each segment is a curve of two points
            positions, colors = positions[rows], colors[rows]
            prim.CreateCurveVertexCountsAttr().Set(vt.IntArray.FromNumpy(np.full(len(index), 2, np.int32)), frame)
        elif one.kind == "triangles":
            self._sample_triangles(prim, one, frame)
        else:
            splats = one.kind == "splats"
            widths = 2.0 * (one.extras["scale"].max(axis=1) if splats else one.extras["radius"]).astype(np.float32)
            if splats:
                colors = np.concatenate([colors[:, :3], one.extras["opacity"][:, None]], axis=1).astype(np.float32)
                self._sample_splats(prim, one, frame)
            prim.CreateWidthsAttr().Set(vt.FloatArray.FromNumpy(widths), frame)
        prim.CreatePointsAttr().Set(vt.Vec3fArray.FromNumpy(np.ascontiguousarray(positions)), frame)
        if len(positions):
            extent = np.stack([positions.min(axis=0), positions.max(axis=0)])
            prim.CreateExtentAttr().Set(vt.Vec3fArray.FromNumpy(extent), frame)
        color = prim.CreateDisplayColorPrimvar(self._geom.Tokens.vertex)
        color.Set(vt.Vec3fArray.FromNumpy(np.ascontiguousarray(colors[:, :3])), frame)
        if colors.shape[1] == 4:
            opacity = prim.CreateDisplayOpacityPrimvar(self._geom.Tokens.vertex)
            opacity.Set(vt.FloatArray.FromNumpy(np.ascontiguousarray(colors[:, 3])), frame)
        if one.scalars is not None and one.kind != "lines":
            primvars = self._geom.PrimvarsAPI(prim.GetPrim())
            scalar = primvars.CreatePrimvar("scalar", self._sdf.ValueTypeNames.FloatArray, self._geom.Tokens.vertex)
            scalar.Set(vt.FloatArray.FromNumpy(one.scalars), frame)

    def _sample_splats(self, prim: Any, one: Geometry, frame: int) -> None:
        """Standard deviations along the axes, and rotations x, y, z, w, as primvars: points are round."""
        primvars, types = self._geom.PrimvarsAPI(prim.GetPrim()), self._sdf.ValueTypeNames
        scale = primvars.CreatePrimvar("scale", types.Float3Array, self._geom.Tokens.vertex)
        scale.Set(self._vt.Vec3fArray.FromNumpy(np.ascontiguousarray(one.extras["scale"], np.float32)), frame)
        rotation = primvars.CreatePrimvar("rotation", types.Float4Array, self._geom.Tokens.vertex)
        rotation.Set(self._vt.Vec4fArray.FromNumpy(np.ascontiguousarray(one.extras["rotation"], np.float32)), frame)

    def _sample_triangles(self, prim: Any, one: Geometry, frame: int) -> None:
        """Triangles that stay the same have no samples: programs keep the topology of a mesh that deforms."""
        index, before = one.index, self._last_index.get(one.name)
        assert index is not None
        if before is None:
            self._set_triangles(prim, index)
        elif not np.array_equal(before, index):
            if not prim.GetFaceVertexIndicesAttr().GetNumTimeSamples():
                self._set_triangles(prim, before, self._frames[0])
            self._set_triangles(prim, index, frame)
        self._last_index[one.name] = index
        if one.normals is not None:
            prim.CreateNormalsAttr().Set(self._vt.Vec3fArray.FromNumpy(np.ascontiguousarray(one.normals)), frame)
            prim.SetNormalsInterpolation(self._geom.Tokens.vertex)

    def _set_triangles(self, prim: Any, index: np.ndarray, *frame: int) -> None:
        counts, corners = np.full(len(index), 3, np.int32), np.ascontiguousarray(index.reshape(-1), np.int32)
        prim.CreateFaceVertexCountsAttr().Set(self._vt.IntArray.FromNumpy(counts), *frame)
        prim.CreateFaceVertexIndicesAttr().Set(self._vt.IntArray.FromNumpy(corners), *frame)

    def _sample_camera(self, camera: OrbitCamera, frame: int) -> None:
        """USD's camera looks along -z with y up, as eye space does."""
        prim = self._prims.get("")
        if prim is None:
            prim = self._prims[""] = self._geom.Camera.Define(self._stage, "/World/_camera")
            prim.AddTransformOp()
            prim.CreateClippingRangeAttr(self._gf.Vec2f(1e-3, 1e6))
        world_from_eye = np.linalg.inv(camera.view())
        prim.GetOrderedXformOps()[0].Set(self._gf.Matrix4d(world_from_eye.T.tolist()), frame)
        tokens, height = self._geom.Tokens, APERTURE
        prim.CreateProjectionAttr().Set(tokens.orthographic if camera.orthographic else tokens.perspective, frame)
        if camera.orthographic:
            height = 20.0 * camera.half_height  # in tenths of a unit of length
        else:
            prim.CreateFocalLengthAttr().Set(0.5 * APERTURE * camera.distance / camera.half_height, frame)
        prim.CreateVerticalApertureAttr().Set(height, frame)
        prim.CreateHorizontalApertureAttr().Set(height * WIDE, frame)

    def _unwritable(self, error: Exception) -> InputError:
        reason = getattr(error, "strerror", None) or str(error).strip().splitlines()[-1]
        return InputError(f"{self._path}: cannot be written ({reason})")
