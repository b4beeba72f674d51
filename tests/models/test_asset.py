"""Assets: what is read of glTF 2.0, and what compute shaders make of nodes, skins, morph targets and clips."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.asset import Asset, Params
from vertigrad.models.data.assets.content import BLEND, CLAMP, MASK, MIRROR, REPEAT
from vertigrad.models.data.assets.reading import read
from vertigrad.scene import load
from vertigrad.session import Session

from .gltf_builder import Builder, quad

HALF = math.sqrt(0.5)


def put(builder: Builder, folder: Path, name: str = "some asset.glb") -> Path:
    return builder.save(folder / name)


def created(path: Path, **params: Any) -> Asset:
    return Asset("asset", Params(file=path, **{"size": 0.0, **params}), {}, 0)


def positions(model: Asset) -> np.ndarray:
    return model.outputs()["position"].numpy()


def holds(model: Asset) -> bool:
    return all(comparison.holds for comparison in model.compare_with_reference())


# files --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.glb", "a.gltf"])
def test_size_position_and_all_nodes(tmp_path: Path, name: str) -> None:
    """A tree of nodes, one mesh at two of them, a matrix, and a node that is not in the scene."""
    builder = Builder()
    mesh = builder.mesh(*quad())
    child = builder.node(root=False, mesh=mesh, translation=[0, 0, 3])
    turned = [0, 0, -2, 0, 0, 1, 0, 0, 2, 0, 0, 0, 5, 0, 0, 1]  # by 90 degrees around y, and twice as wide
    builder.node(mesh=mesh, matrix=turned, children=[child])
    builder.node(root=False, mesh=mesh, translation=[99, 0, 0])
    asset = read(put(builder, tmp_path, name), 0.0, "y", 64)
    assert asset.factor == 1.0 and len(asset.asset.vertices) == 8 and asset.asset.index.shape == (4, 3)
    model = created(tmp_path / name)
    found = positions(model)
    assert np.allclose(np.ptp(found[:4], axis=0), (0, 2, 4)) and np.allclose(found[4:, 0] - found[:4, 0], 6)
    assert np.allclose(found.min(axis=0), -found.max(axis=0), atol=1e-6)
    assert np.allclose(model.outputs()["normal"].numpy(), (1, 0, 0), atol=1e-6) and holds(model)
    assert np.allclose(model.outputs()["tangent"].numpy(), (0, 0, -1, 1), atol=1e-6)
    model.close()
    scaled = created(tmp_path / name, size=3.0, up="z")
    assert np.allclose(np.ptp(positions(scaled), axis=0), (3.0, 2.0, 1.0), atol=1e-6) and holds(scaled)
    scaled.close()


def test_a_mirrored_node_has_its_triangles_turned(tmp_path: Path) -> None:
    builder = Builder()
    mesh = builder.mesh(*quad())
    builder.node(mesh=mesh, translation=[-2, 0, 0])
    builder.node(mesh=mesh, scale=[-1, 1, 1], translation=[2, 0, 0])
    model = created(put(builder, tmp_path))
    corners = positions(model)[model.outputs()["index"].numpy()]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (across[:, 2] > 0).all() and np.allclose(model.outputs()["normal"].numpy(), (0, 0, 1))
    assert np.allclose(model.outputs()["tangent"].numpy()[4:], (-1, 0, 0, -1)) and holds(model)
    model.close()


def test_materials_and_their_maps(tmp_path: Path) -> None:
    builder = Builder()
    red, wide = np.full((4, 4, 3), (255, 0, 0), np.uint8), np.zeros((2, 8, 3), np.uint8)
    color = builder.image(red, {"wrapS": 33071, "wrapT": 33648})
    data = builder.image(wide)
    transform = {"offset": [0.5, 0.25], "rotation": math.pi / 2, "scale": [2, 3], "texCoord": 1}
    info = {"index": color, "extensions": {"KHR_texture_transform": transform}}
    rough = {"baseColorFactor": [0.1, 0.2, 0.3, 0.4], "baseColorTexture": info, "metallicFactor": 0.5}
    builder.add(
        "materials",
        {
            "pbrMetallicRoughness": {**rough, "roughnessFactor": 0.6, "metallicRoughnessTexture": {"index": data}},
            "normalTexture": {"index": data, "scale": 0.7},
            "occlusionTexture": {"index": data, "strength": 0.8},
            "emissiveTexture": {"index": color},
            "emissiveFactor": [0.5, 0.25, 0],
            "alphaMode": "MASK",
            "alphaCutoff": 0.9,
            "doubleSided": True,
            "extensions": {"KHR_materials_emissive_strength": {"emissiveStrength": 4}, "KHR_materials_unlit": {}},
        },
    )
    builder.node(mesh=builder.mesh(*quad(), material=0))
    asset = read(put(builder, tmp_path), 0.0, "y", 64).asset
    found, default = asset.materials
    assert found.base_color == (0.1, 0.2, 0.3, 0.4) and found.emissive == (2.0, 1.0, 0.0)
    assert (found.metallic, found.roughness, found.normal_scale, found.occlusion_strength) == (0.5, 0.6, 0.7, 0.8)
    assert (found.alpha_mode, found.alpha_cutoff, found.double_sided, found.unlit) == (MASK, 0.9, True, True)
    base = found.maps["base_color"]
    assert base.texcoord == 1 and base.wrap == (CLAMP, MIRROR) and found.maps["normal"].wrap == (REPEAT, REPEAT)
    assert np.allclose(base.transform, ((0, 3, 0.5), (-2, 0, 0.25)), atol=1e-9)
    assert {name: one.layer for name, one in found.maps.items()} == dict.fromkeys(found.maps, 0)
    assert asset.color_maps.shape == (1, 4, 4, 4) and (asset.color_maps[0] == (255, 0, 0, 255)).all()
    assert asset.data_maps.shape == (1, 2, 8, 4)
    assert (default.metallic, default.roughness, default.maps) == (1.0, 1.0, {})  # of primitives without one


def test_colors_quantized_and_sparse_accessors(tmp_path: Path) -> None:
    """KHR_mesh_quantization; normalized colors, which are linear light; values that differ from those of a view."""
    builder = Builder()
    attributes, index = quad()
    stored = np.int16(attributes["POSITION"] * 100)
    padded = np.concatenate([stored, np.zeros((4, 1), np.int16)], axis=1)
    view = builder.view(padded.tobytes(), byteStride=8)
    changed = {"indices": {"bufferView": builder.view(np.uint8([2]).tobytes()), "componentType": 5121}}
    changed["values"] = {"bufferView": builder.view(np.int16([100, 200, 0]).tobytes())}
    described = {"bufferView": view, "componentType": 5122, "count": 4, "type": "VEC3"}
    position = builder.add("accessors", described | {"sparse": {"count": 1, **changed}})
    colors = builder.accessor(np.uint8([[55, 0, 255, 128]] * 4), normalized=True)
    normal = builder.accessor(np.int8([[0, 0, 127, 0]] * 4)[:, :3].copy(), normalized=True)
    primitive = {"attributes": {"POSITION": position, "COLOR_0": colors, "NORMAL": normal}}
    mesh = builder.add("meshes", {"primitives": [primitive | {"indices": builder.accessor(index)}]})
    builder.node(mesh=mesh, scale=[0.01, 0.01, 0.01])
    builder.json["extensionsRequired"] = builder.json["extensionsUsed"] = ["KHR_mesh_quantization"]
    model = created(put(builder, tmp_path))
    found = positions(model)
    assert np.allclose(np.ptp(found, axis=0), (2, 3, 0)) and np.allclose(found[2] - found[1], (0, 3, 0), atol=1e-6)
    color = model.outputs()["color"].numpy()
    assert np.allclose(color[:, 0], 0.5023, atol=1e-3) and np.allclose(color[:, 1:], (0, 1, 128 / 255))
    assert np.allclose(model.outputs()["normal"].numpy(), (0, 0, 1))
    model.close()


@pytest.mark.parametrize(("mode", "count"), [(4, 2), (5, 4), (6, 4)])
def test_triangles_strips_and_fans_without_normals(tmp_path: Path, mode: int, count: int) -> None:
    around = np.linspace(0, 2 * np.pi, 7)[:6]
    ring = np.float32(np.stack([np.cos(around), np.sin(around), 0 * around], axis=1))
    order = {4: [0, 1, 2, 3, 4, 5], 5: [0, 1, 5, 2, 4, 3], 6: [0, 1, 2, 3, 4, 5]}[mode]
    builder = Builder()
    builder.node(mesh=builder.mesh({"POSITION": ring}, np.uint8(order), mode=mode))
    asset = read(put(builder, tmp_path), 0.0, "y", 64).asset
    assert asset.index.shape == (count, 3) and len(asset.vertices) == 3 * count  # flat: no vertex is shared
    corners = asset.vertices[asset.index][..., :3]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert (across[:, 2] > 0).all() and np.allclose(asset.vertices[:, 3:6], (0, 0, 1))


# what moves ---------------------------------------------------------------------------------------------------------


def animated(interpolation: str = "LINEAR") -> Builder:
    """A square that is moved, turned and scaled in a clip, and a second clip that only turns it."""
    builder = Builder()
    node = builder.node(mesh=builder.mesh(*quad()), name="square")
    builder.node(mesh=builder.mesh(*quad(0.1)), translation=[0, 0, 0.5])
    moves, turns = [[0, 0, 0], [2, 0, 0], [2, 4, 0]], [[0, 0, 0, 1], [0, 0, HALF, HALF], [0, 0, 1, 0]]
    if interpolation == "CUBICSPLINE":  # in and out tangents around each value
        moves = [row for value in moves for row in ([1, 0, 0], value, [0, 1, 0])]
        turns = [row for value in turns for row in ([0, 0, 0.1, 0], value, [0, 0, 0.2, -0.1])]
    builder.animate(
        "move",
        (node, "translation", np.array([0, 1, 3]), np.array(moves), interpolation),
        (node, "rotation", np.array([0, 1, 3]), np.array(turns), interpolation),
    )
    builder.animate("turn", (node, "rotation", np.array([0.5, 1]), np.array([[0, 0, 0, 1], [0, 0, 1, 0]]), "LINEAR"))
    return builder


@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_clips_are_played_as_in_the_reference(tmp_path: Path, interpolation: str) -> None:
    model = created(put(animated(interpolation), tmp_path), loop=False)
    for step in (0.0, 0.3, 0.7, 0.5, 1.0, 0.5, 3.0):  # also at keys, and after the last
        model.step(step)
        assert holds(model), model.compare_with_reference()
    model.close()


def test_time_in_a_clip(tmp_path: Path) -> None:
    path = put(animated(), tmp_path)
    model = created(path)
    middle = positions(model)[:4].mean(axis=0)
    model.step(0.5)
    assert np.allclose(positions(model)[:4].mean(axis=0) - middle, (1, 0, 0), atol=1e-6)
    corner = positions(model)[0] - positions(model)[:4].mean(axis=0)
    assert np.allclose(corner, (0, -math.sqrt(2), 0), atol=1e-6)  # turned by 45 degrees
    model.step(1.5)
    assert np.allclose(positions(model)[:4].mean(axis=0) - middle, (2, 2, 0), atol=1e-6)
    model.step(1.5)  # 3.5 s of 3 s
    assert np.allclose(positions(model)[:4].mean(axis=0) - middle, (1, 0, 0), atol=1e-5)
    assert model.diagnostics()["clip_time"].numpy() == pytest.approx(0.5)
    state = model.scalar_state()
    model.reset()
    assert np.allclose(positions(model)[:4].mean(axis=0), middle)
    model.load_scalar_state(state)
    model.step(0.0)
    assert np.allclose(positions(model)[:4].mean(axis=0) - middle, (1, 0, 0), atol=1e-5)
    model.close()
    model = created(path, offset=2.5, time_scale=-1.0, clip="move")  # backward
    model.step(2.0)
    assert np.allclose(positions(model)[:4].mean(axis=0) - middle, (1, 0, 0), atol=1e-5)
    model.close()


def test_the_clip_is_chosen_by_its_name(tmp_path: Path) -> None:
    path = put(animated(), tmp_path)
    assert Asset.choices(Params(file=path)) == {"clip": ("move", "turn")}
    model = created(path, clip="turn", offset=1.0 - 1e-6)
    assert np.allclose(positions(model)[0] - positions(model)[:4].mean(axis=0), (1, 1, 0), atol=1e-4)
    model.close()
    with pytest.raises(InputError, match=r'no animation "run"; it has "move", "turn"'):
        created(path, clip="run")
    still = Builder()
    still.node(mesh=still.mesh(*quad()))
    reasons = Asset.without_effect(Params(file=put(still, tmp_path, "still.glb")), ())
    assert set(reasons) == {"clip", "time_scale", "offset", "loop"}
    assert Asset.without_effect(Params(file=path), ()) == {}


def skinned(sets: int = 1) -> Builder:
    """A strip of ten vertices, bound to two joints, the upper of which turns; and a mesh that is not skinned."""
    builder = Builder()
    height = np.repeat(np.linspace(0, 2, 5), 2)
    points = np.float32(np.stack([np.tile([-0.2, 0.2], 5), height, 0 * height], axis=1))
    first = 2 * np.arange(4)[:, None]
    index = (first + np.array([[0, 1, 2, 2, 1, 3]])).reshape(-1)
    upper = np.clip(height - 0.5, 0, 1)
    joints, weights = np.zeros((10, 4 * sets), np.uint8), np.zeros((10, 4 * sets), np.float32)
    joints[:, -1], weights[:, -1], weights[:, 0] = 1, upper, 1 - upper
    if sets == 1:
        joints[:, 2] = 7  # of no weight: it need not be there
    attributes = {"POSITION": points, "NORMAL": np.float32([[0, 0, 1]] * 10)}
    for at in range(sets):
        part = slice(4 * at, 4 * at + 4)
        attributes |= {f"JOINTS_{at}": joints[:, part].copy(), f"WEIGHTS_{at}": weights[:, part].copy()}
    mesh = builder.mesh(attributes, np.uint16(index))
    top = builder.node(root=False, translation=[0, 1, 0])
    bottom = builder.node(children=[top], translation=[3, 0, 0])
    binds = np.tile(np.eye(4, dtype=np.float32), (2, 1, 1))
    binds[1, 1, 3] = -1.0
    columns = binds.transpose(0, 2, 1).reshape(2, 16)
    builder.add("skins", {"joints": [bottom, top], "inverseBindMatrices": builder.accessor(columns)})
    builder.node(mesh=mesh, skin=0, translation=[50, 50, 50])  # the position of a skinned mesh's node means nothing
    builder.node(mesh=builder.mesh(*quad(0.5)), translation=[3, 0, 0])
    turn = np.array([[0, 0, 0, 1], [0, 0, HALF, HALF]])
    builder.animate("bend", (top, "rotation", np.array([0, 1]), turn, "LINEAR"))
    return builder


@pytest.mark.parametrize("sets", [1, 2])
def test_a_skin_bends_the_mesh(tmp_path: Path, sets: int) -> None:
    model = created(put(skinned(sets), tmp_path), loop=False)
    straight = positions(model)[:10]
    assert np.allclose(np.ptp(straight, axis=0), (0.4, 2, 0), atol=1e-6)
    model.step(1.0)
    bent = positions(model)[:10]
    joint = straight[4:6].mean(axis=0)
    assert np.allclose(bent[:2], straight[:2], atol=1e-6)
    assert np.allclose(bent[8:].mean(axis=0) - joint, (-1, 0, 0), atol=1e-6)  # from above the joint to its left
    assert holds(model)
    model.step(-0.37)
    assert holds(model)
    model.close()


def test_morph_targets_are_added_by_their_weights(tmp_path: Path) -> None:
    builder = Builder()
    attributes, index = quad()
    targets = [np.float32([[0, 0, 1]] * 4), np.float32([[1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]])]
    lists = [{"POSITION": builder.accessor(one)} for one in targets]
    lists[1]["NORMAL"] = builder.accessor(np.float32([[1, 0, -1]] * 4))
    mesh = builder.mesh(attributes, index, targets=lists)
    builder.json["meshes"][mesh]["weights"] = [0.5, 0.0]
    node = builder.node(mesh=mesh)
    builder.node(mesh=mesh, translation=[9, 0, 0], weights=[0.0, 0.25])  # the same mesh with weights of its own
    weights = np.array([[0.5, 0.0], [0.0, 1.0]]).reshape(-1)
    builder.animate("morph", (node, "weights", np.array([0, 1]), weights, "LINEAR"))
    model = created(put(builder, tmp_path), loop=False)
    start = positions(model)
    assert np.allclose(start[:4, 2] - start[4:, 2], 0.5) and holds(model)
    model.step(0.5)
    moved = positions(model)
    assert np.allclose(moved[:4, 2] - start[:4, 2], -0.25) and np.allclose(moved[[0, 3], 0] - start[[0, 3], 0], 0.5)
    assert np.allclose(moved[4:], start[4:]) and holds(model)
    assert np.allclose(model.outputs()["normal"].numpy()[:4], (HALF, 0, HALF), atol=1e-6)
    model.close()


def test_lights_are_at_their_nodes_and_scaled(tmp_path: Path) -> None:
    builder = Builder()
    builder.node(mesh=builder.mesh(*quad()))
    described = [
        {"type": "point", "color": [1, 0.5, 0], "intensity": 8, "range": 3},
        {"type": "directional", "intensity": 2},
        {"type": "spot", "spot": {"outerConeAngle": 0.5}},
    ]
    builder.json["extensions"] = {"KHR_lights_punctual": {"lights": described}}
    for light in range(3):
        more = {"extensions": {"KHR_lights_punctual": {"light": light}}}
        builder.node(translation=[0, light, 1], rotation=[0, HALF, 0, HALF], **more)
    model = created(put(builder, tmp_path), size=4.0)
    lights = model.outputs()["lights"].numpy()
    assert np.allclose(lights[:, :3], [[0, 0, 2], [0, 2, 2], [0, 4, 2]], atol=1e-5)
    assert list(lights[:, 3]) == [1, 0, 2] and np.allclose(lights[:, 4:7], (-1, 0, 0), atol=1e-6)
    assert np.allclose(lights[:, 8:11], [[32, 16, 0], [2, 2, 2], [4, 4, 4]]) and lights[0, 7] == 6.0
    assert np.allclose(lights[2, 11:13], [1, math.cos(0.5)])
    model.close()


def test_cameras_of_the_file_are_bookmarks_of_its_scene(tmp_path: Path) -> None:
    builder = Builder()
    builder.node(mesh=builder.mesh(*quad()), translation=[5, 0, 0])
    described = [{"type": "perspective", "perspective": {"yfov": 0.5, "znear": 0.1}}, {"type": "orthographic"}]
    builder.json["cameras"] = described
    builder.node(camera=0, name='front "door"', translation=[5, 0, 3])
    builder.node(camera=1, translation=[9, 0, 0], rotation=[0, HALF, 0, HALF])
    path = put(builder, tmp_path)
    marks, asset = load(path).bookmarks, read(path, 2.0, "y", 64)
    front, side = marks['front "door"'], marks["camera 1"]
    assert np.allclose(front.position, (0, 0, 3 * asset.factor), atol=1e-5) and np.allclose(front.target, 0, atol=1e-5)
    assert front.fov == pytest.approx(np.degrees(0.5), abs=1e-3)
    assert np.allclose(side.position, (4 * asset.factor, 0, 0), atol=1e-5) and side.orthographic
    assert np.allclose(side.target, 0, atol=1e-5)
    builder.json["nodes"][1]["camera"] = 7
    put(builder, tmp_path)
    with pytest.raises(InputError, match="camera 7"):
        read(path, 3.0, "y", 64)


def test_nothing_is_uploaded_while_it_moves(gpu: Gpu, tmp_path: Path) -> None:
    """Keys, joints and vertices stay on the GPU: a step has one number, the time."""
    model = created(put(skinned(), tmp_path))
    model.step(0.1)
    gpu.submit()
    before = gpu.meter.read()["geometry"]
    for _ in range(3):
        model.step(0.1)
        gpu.submit()
    assert gpu.meter.read()["geometry"] == before
    model.close()


def test_a_dropped_file_is_a_scene(gpu: Gpu, tmp_path: Path) -> None:
    path = put(skinned(), tmp_path)
    session = Session(gpu, path)
    layer = session.scene.layers["asset"]
    assert layer.type == "asset" and layer.style.blend is False and "color" not in layer.attributes
    assert session.stage.layers["asset"].drawing.attributes.rows == 14
    session.close()


# OBJ ------------------------------------------------------------------------------------------------------------------

OBJ = """mtllib a.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl red glass
f 1/1/1 2/2/1 3/3/1
usemtl painted
f -4/-4/-1 -2/-2/-1 -1/-1/-1
"""
MTL = """newmtl red glass
Kd 0.8 0.1 0.2
Ns 30
d 0.5
newmtl painted
map_Kd -s 1 1 1 some.png
Pr 0.3
Pm 1
Ke 0 2 0
map_Bump bump.png
"""


def put_obj(folder: Path, obj: str = OBJ, mtl: str = MTL) -> Path:
    path = folder / "a.obj"
    path.write_text(obj, encoding="utf-8")
    (folder / "a.mtl").write_text(mtl, encoding="utf-8")
    Image.new("RGB", (4, 2), (10, 200, 30)).save(folder / "some.png")
    return path


def test_obj_with_mtl(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asset = read(put_obj(tmp_path), 0.0, "y", 64).asset
    red, painted = asset.materials
    assert red.base_color == (0.8, 0.1, 0.2, 0.5) and red.alpha_mode == BLEND and red.roughness == (2 / 32) ** 0.25
    assert (painted.metallic, painted.roughness, painted.emissive) == (1.0, 0.3, (0.0, 2.0, 0.0))
    assert painted.maps["base_color"].layer == 0 and (asset.color_maps[0] == (10, 200, 30, 255)).all()
    assert list(asset.material[asset.index[:, 0]]) == [0, 1] and "map_bump" in caplog.text
    corners = asset.vertices[asset.index][..., :2], asset.texcoords[asset.index][..., :2]
    assert np.allclose(corners[0] * (1, -1) + (0, 1), corners[1])  # v points down
    assert np.allclose(asset.vertices[:, 3:6], (0, 0, 1))
    model = created(tmp_path / "a.obj")
    assert holds(model)
    model.close()
    assert load(tmp_path / "a.obj").layers["asset"].type == "asset"
    (tmp_path / "a.mtl").unlink()
    assert load(tmp_path / "a.obj").layers["mesh"].type == "surface"  # without its materials it is a mesh


def test_obj_without_normals_is_smooth_except_at_creases(tmp_path: Path) -> None:
    ball = trimesh.creation.icosphere(subdivisions=3)
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in ball.vertices) + "usemtl a\n"
    path = put_obj(tmp_path, text + "".join(f"f {a} {b} {c}\n" for a, b, c in ball.faces + 1))
    vertices = read(path, 0.0, "y", 64).asset.vertices
    assert len(vertices) == len(ball.vertices) and np.abs(vertices[:, 3:6] - vertices[:, :3]).max() < 0.01


@pytest.mark.parametrize(
    ("obj", "mtl", "message"),
    [
        (OBJ.replace("f 1/1/1", "f 9/1/1"), MTL, "line 12: v 9"),
        (OBJ.replace("v 1 0 0", "v 1 nan 0"), MTL, "not finite"),
        (OBJ.replace("v 1 0 0", "v 1 x 0"), MTL, "line 3"),
        (OBJ.replace("mtllib a.mtl", "mtllib ../a.mtl"), MTL, "not in its folder"),
        (OBJ, MTL.replace("some.png", "../some.png"), "not in its folder"),
        (OBJ, MTL.replace("Kd 0.8", "Kd red"), "kd of a material"),
        (OBJ, MTL.replace("some.png", "a.mtl"), "no image"),
        ("v 0 0 0\n", MTL, "no triangles"),
    ],
)
def test_damaged_obj_files(tmp_path: Path, obj: str, mtl: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(put_obj(tmp_path, obj, mtl), 2.0, "y", 64)


# damaged files ------------------------------------------------------------------------------------------------------


def broken(change: Any) -> bytes:
    builder = skinned()
    change(builder.json)
    return builder.gltf()


def put_in(path: str, value: Any) -> Any:
    def change(described: Any) -> None:
        *parents, last = [int(part) if part.isdecimal() else part for part in path.split("/")]
        for part in parents:
            described = described[part]
        described[last] = value

    return change


BROKEN = {
    "accessors/0/count": (10**12, "at most 33,554,432"),
    "accessors/1/count": (10**6, "POSITION 10"),
    "accessors/0/byteOffset": (1 << 40, "does not fit"),
    "accessors/0/bufferView": (99, "bufferView 99 is not there"),
    "accessors/0/componentType": (5130, "componentType"),
    "accessors/4/componentType": (5126, "indices|does not fit"),
    "bufferViews/0/byteLength": (10**9, "its buffer has"),
    "nodes/0/children": ([1], "two parents"),
    "nodes/2/mesh": (7, "mesh 7 is not there"),
    "skins/0/joints": ([0], "2 joints|joint 1"),
    "skins/0/inverseBindMatrices": (0, "VEC3"),
    "animations/0/channels/0/sampler": (3, "sampler 3"),
    "animations/0/samplers/0/output": (0, "VEC4"),
    "meshes/0/primitives/0/material": (0, "material 0"),
    "asset/version": ("1.0", "1.0"),
    "scene": (4, "scene 4"),
}


@pytest.mark.parametrize("path", BROKEN)
def test_what_does_not_fit_together_is_an_error(tmp_path: Path, path: str) -> None:
    value, message = BROKEN[path]
    file = tmp_path / "broken.gltf"
    file.write_bytes(broken(put_in(path, value)))
    with pytest.raises(InputError, match=message) as found:
        read(file, 2.0, "y", 64)
    assert "broken.gltf" in str(found.value)


def test_required_extensions_that_are_not_read_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.gltf"
    file.write_bytes(broken(put_in("extensionsRequired", ["KHR_draco_mesh_compression", "KHR_materials_unlit"])))
    with pytest.raises(InputError, match=r"requires KHR_draco_mesh_compression, which is not read"):
        read(file, 2.0, "y", 64)


def test_used_extensions_that_are_not_read_are_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "a.gltf"
    file.write_bytes(broken(put_in("extensionsUsed", ["KHR_materials_sheen", "KHR_materials_unlit"])))
    read(file, 2.0, "y", 64)
    assert "not read: KHR_materials_sheen" in caplog.text and "unlit" not in caplog.text


@pytest.mark.parametrize(
    "uri", ["../secret.bin", "/etc/passwd", "sub/../../secret.bin", "%2e%2e/secret.bin", "file:///etc/passwd"]
)
def test_nothing_outside_the_folder_is_read(tmp_path: Path, uri: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret.bin").write_bytes(bytes(100_000))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    for name in (uri, "link.bin"):
        described = json.loads(skinned().gltf())
        described["buffers"][0]["uri"] = name
        file = folder / "a.gltf"
        file.write_text(json.dumps(described), encoding="utf-8")
        with pytest.raises(InputError, match="not in its folder"):
            read(file, 2.0, "y", 64)


def test_buffers_and_images_next_to_the_file(tmp_path: Path) -> None:
    builder = animated()
    described = json.loads(builder.gltf())
    described["buffers"][0]["uri"] = "some%20data/b.bin"
    (tmp_path / "some data").mkdir()
    (tmp_path / "some data" / "b.bin").write_bytes(builder.data)
    file = tmp_path / "a.gltf"
    file.write_text(json.dumps(described), encoding="utf-8")
    assert len(read(file, 2.0, "y", 64).asset.vertices) == 8
    (tmp_path / "some data" / "b.bin").write_bytes(builder.data[:50])
    file.touch()
    with pytest.raises(InputError, match="has 50 bytes"):
        read(file, 2.0, "z", 64)


def test_textures_shrink_and_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder()
    for side in (64, 16):
        image = builder.image(np.full((side, side, 3), side, np.uint8))
        builder.add("materials", {"pbrMetallicRoughness": {"baseColorTexture": {"index": image}}})
    builder.node(mesh=builder.mesh(*quad(), material=0))
    path = put(builder, tmp_path)
    maps = read(path, 2.0, "y", 32).asset.color_maps
    assert maps.shape == (2, 32, 32, 4) and (maps[0, ..., 0] == 64).all() and (maps[1, ..., 0] == 16).all()
    monkeypatch.setattr("vertigrad.models.data.assets.images.MOST_BYTES", 1 << 14)
    with pytest.raises(InputError, match="set texture_size to less than 64"):
        read(path, 2.0, "y", 64)


def test_coats_transmission_and_volumes(tmp_path: Path) -> None:
    builder = Builder()
    data = builder.image(np.zeros((2, 2, 3), np.uint8))
    info = {"index": data, "texCoord": 1}
    coat = {"clearcoatFactor": 0.5, "clearcoatRoughnessFactor": 0.25, "clearcoatNormalTexture": info | {"scale": 0.75}}
    volume = {"thicknessFactor": 2.0, "thicknessTexture": info, "attenuationDistance": 4.0}
    extensions = {
        "KHR_materials_clearcoat": coat | {"clearcoatTexture": info, "clearcoatRoughnessTexture": info},
        "KHR_materials_ior": {"ior": 1.25},
        "KHR_materials_transmission": {"transmissionFactor": 0.75, "transmissionTexture": info},
        "KHR_materials_volume": volume | {"attenuationColor": [0.1, 0.2, 0.3]},
    }
    builder.json["extensionsRequired"] = builder.json["extensionsUsed"] = list(extensions)
    builder.add("materials", {"extensions": extensions})
    attributes, index = quad()
    del attributes["TANGENT"]
    builder.node(mesh=builder.mesh(attributes | {"TEXCOORD_1": attributes["TEXCOORD_0"]}, index, material=0))
    asset = read(put(builder, tmp_path), 0.0, "y", 64).asset
    found = asset.materials[0]
    assert (found.coat.strength, found.coat.roughness, found.coat.normal_scale, found.ior) == (0.5, 0.25, 0.75, 1.25)
    assert {name: one.texcoord for name, one in found.coat.maps.items()} == {"strength": 1, "roughness": 1, "normal": 1}
    assert (found.transmission.fraction, found.transmission.thickness, found.transmission.distance) == (0.75, 2.0, 4.0)
    assert found.transmission.color == (0.1, 0.2, 0.3) and set(found.transmission.maps) == {"fraction", "thickness"}
    assert np.allclose(asset.vertices[:, 6:], (1, 0, 0, 1))  # for the normals of the coat
    model = created(tmp_path / "some asset.glb", size=4.0)
    table = model.outputs()["materials"].numpy()
    assert table.shape == (2, 148) and list(table[0, 117:119]) == [4.0, 8.0]  # lengths grow with the asset
    model.close()
