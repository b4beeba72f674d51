"""`Renderer`: targets, sizes, formats, and cached resources."""

import gc
import re
import struct

import numpy as np
import pytest
import wgpu

from vertigrad import resources
from vertigrad.gpu import shader
from vertigrad.gpu.wgsl import struct_layout
from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.area_lights import MOST_LIGHTS, PACKED
from vertigrad.renderer.view_uniforms import POST_PROCESS_SIZE, VIEW_SIZE, post_process_uniform, view_uniform

CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
POSITION = np.random.default_rng(2).uniform(-1, 1, (40, 3)).astype(np.float32)


@pytest.fixture
def balls(layer):
    return layer("points", position=POSITION, size=0.15)


def target(gpu, size, format="rgba8unorm"):
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT
    return gpu.device.create_texture(size=(*size, 1), format=format, usage=usage).create_view()


def test_an_srgb_target_shows_the_same(render, balls):
    plain = render([balls], CAMERA, View()).astype(int)
    encoding = render([balls], CAMERA, View(), format="rgba8unorm-srgb").astype(int)
    assert plain.max() > 100
    assert np.abs(plain - encoding).max() <= 1


@pytest.mark.parametrize("size", [(0, 0), (0, 100), (100, 0)])
def test_an_image_without_pixels_is_skipped(gpu, balls, size):
    gpu.submit()
    Renderer(gpu, "rgba8unorm").draw([balls], CAMERA, View(), target(gpu, (4, 4)), size)
    assert not gpu.recorder.pending


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (7, 300), (333, 5)])
def test_any_other_size_is_drawn(gpu, render, balls, size):
    width, height = size
    assert render([balls], CAMERA, View(bloom=0.3), size).shape == (height, width, 3)


def test_the_size_may_change_with_each_image_and_before_a_submit(gpu, render, balls):
    expected = render([balls], CAMERA, View(), (90, 70))
    renderer = Renderer(gpu, "rgba8unorm")
    for size in ((50, 40), (90, 70), (20, 80)):
        renderer.draw([balls], CAMERA, View(), target(gpu, size), size)  # three sizes in one submission
    gpu.wait_idle()
    assert np.array_equal(render([balls], CAMERA, View(), (90, 70)), expected)


def test_resizing_retains_nothing(gpu, balls):
    renderer = Renderer(gpu, "rgba8unorm")

    def resize(times):
        for i in range(times):
            size = (16 + 3 * i, 64 - i)
            renderer.draw([balls], CAMERA, View(), target(gpu, size), size)
            gpu.wait_idle()
        gc.collect()
        counts = wgpu.diagnostics.object_counts.get_dict()
        return {kind: counts[kind]["count"] for kind in ("Texture", "TextureView", "BindGroup", "RenderPipeline")}

    assert resize(4) == resize(40)


def test_bloom_spreads_and_conserves_light(render, layer):
    sun = layer(
        "points", {"emissive": 1.0, "brightness": 3.0}, position=np.zeros((1, 3), np.float32), color=(1, 1, 1), size=0.3
    )
    camera = OrbitCamera(distance=4.0, fov=40.0)
    views = [View(bloom=bloom, vignette=0.0, background="#000000") for bloom in (0.0, 0.5)]
    sharp, soft = (render([sun], camera, view, (256, 256)).astype(float)[..., 1] for view in views)
    left_part = (slice(100, 156), slice(20, 80))
    assert sharp[left_part].max() <= 1
    assert soft[left_part].max() > 8
    assert soft.max() < sharp.max()
    y, x = np.mgrid[0:256, 0:256]
    assert [(soft * axis).sum() / soft.sum() for axis in (x, y)] == pytest.approx([127.5, 127.5], abs=0.3)


def test_the_order_of_layers_does_not_matter(render, layer):
    """Small emissive points are drawn after all solid layers, also if their layer comes first."""
    stars = layer("points", {"emissive": 1.0}, position=POSITION, color=(1, 0.5, 0.2), size=0.004)
    wall = np.float32([[[x, y, -0.5] for x in (-2, 2)] for y in (-2, 2)])
    ground = layer("surface", position=wall, color=(0.1, 0.1, 0.3))
    first, last = (render(layers, CAMERA, View()) for layers in ([stars, ground], [ground, stars]))
    assert np.array_equal(first, last)
    assert not np.array_equal(first, render([ground], CAMERA, View()))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_points_without_a_finite_position_are_not_drawn(render, layer, value):
    expected = render([layer("points", position=POSITION, size=0.15)], CAMERA)
    lost = np.concatenate([POSITION, [[value, 0, 0], [0, value, 0], [0, 0, value], [value] * 3]]).astype(np.float32)
    for size in (0.15, np.append(np.full(len(POSITION), 0.15), [np.nan, 0.0, -1.0, 0.0]).astype(np.float32)):
        assert np.array_equal(render([layer("points", position=lost, size=size)], CAMERA), expected)


def test_an_eye_inside_a_sphere_sees_the_surroundings(render, layer):
    expected = render([layer("points", position=POSITION, size=0.15)], CAMERA)
    around = layer("points", position=np.float32([CAMERA.position]), size=2.0)
    assert np.array_equal(render([around, layer("points", position=POSITION, size=0.15)], CAMERA), expected)


@pytest.mark.parametrize("size", [0.15, 0.004])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_unbounded_light_does_not_spread(render, layer, value, size):
    """NaN light must not reach other pixels through the bloom."""
    camera = OrbitCamera(distance=4.0)
    point = np.float32([[0.5, 0.0, 0.0], [1.0, 0.0, 0.0]])
    style = {"emissive": 1.0, "brightness": 1e4}
    colors = np.float32([[0.2, 0.2, 0.2], [value] * 3])
    wild = render([layer("points", style, position=point, color=colors, size=size)], camera, View(bloom=1e-8))
    tame = render([layer("points", style, position=point[:1], color=colors[:1], size=size)], camera, View(bloom=1e-8))
    assert np.abs(wild[:, :105].astype(int) - tame[:, :105]).max() <= 1


def test_a_full_uniform_ring_is_submitted_first(gpu, render, balls):
    expected = render([balls], CAMERA, View())
    while gpu.uniforms.fits(48 << 10):
        gpu.uniforms.push(bytes(32 << 10))
    assert np.array_equal(render([balls], CAMERA, View()), expected)


# structs mirrored in Python -----------------------------------------------------------------------------------------


def wgsl_fields(source, name):
    """{field: offset} and the size of a WGSL struct of floats, vectors and 4x4 matrices, by the rules of WGSL."""
    body = re.search(rf"struct {name} \{{(.*?)\n\}}", re.sub(r"//[^\n]*", "", source), re.S)[1]
    sizes = {"f32": (4, 4), "vec2f": (8, 8), "vec3f": (12, 16), "vec4f": (16, 16), "mat4x4f": (64, 16), "u32": (4, 4)}
    sizes["array<vec4f, 3>"] = (48, 16)
    if name != "AreaLight" and "struct AreaLight" in source:
        sizes["array<AreaLight, 8>"] = (MOST_LIGHTS * wgsl_fields(source, "AreaLight")[1], 16)
    offset, fields = 0, {}
    for field, kind in re.findall(r"(\w+): (array<\w+, \d+>|\w+),", body):
        size, align = sizes[kind]
        offset = -(-offset // align) * align
        fields[field] = offset
        offset += size
    return fields, -(-offset // 16) * 16


def test_uniforms_have_the_size_of_the_shader_structs():
    sources = {
        "View": (resources.shader("common/view.wgsl"), VIEW_SIZE, len(view_uniform(View(), CAMERA, (3, 4), 0.0))),
        "PostProcess": (
            resources.shader("draw/post_process.wgsl"),
            POST_PROCESS_SIZE,
            len(post_process_uniform(View(), (3, 4))),
        ),
    }
    for name, (source, size, packed) in sources.items():
        assert wgsl_fields(source, name)[1] == size == packed, name
    assert wgsl_fields(sources["View"][0], "AreaLight")[1] == PACKED.size
    for path in ("common/points.wgsl", "draw/surface.wgsl"):
        layout = struct_layout(resources.shader(path), "Style", path)
        offsets = {name: field.offset for name, field in layout.fields.items()}
        assert wgsl_fields(resources.shader(path), "Style") == (offsets, layout.size)


def test_each_value_of_the_view_is_where_the_shader_reads_it():
    view = View(sun=2.0, sun_color=(1, 1, 1), sky=0.5, sun_azimuth=0.0, sun_elevation=90.0)
    packed = view_uniform(view, CAMERA, (200, 100), 7.5)
    fields, _ = wgsl_fields(resources.shader("common/view.wgsl"), "View")

    def value(name, count=1):
        found = struct.unpack_from(f"<{count}f", packed, fields[name])
        return found if count > 1 else found[0]

    np.testing.assert_allclose(np.reshape(value("world_to_eye", 16), (4, 4)).T, CAMERA.view(), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(np.reshape(value("eye_to_clip", 16), (4, 4)).T, CAMERA.projection(2.0), rtol=1e-6)
    np.testing.assert_allclose(value("up", 3), CAMERA.rotation().T @ (0, 1, 0), atol=1e-6)
    np.testing.assert_allclose(value("sun_direction", 3), value("up", 3), atol=1e-6)
    assert value("sun", 3) == (2.0, 2.0, 2.0)
    assert value("pixel") == pytest.approx(CAMERA.pixel(100))
    assert value("near") == pytest.approx(CAMERA.near)
    assert value("time") == 7.5
    assert value("sky", 3) == pytest.approx([0.5 * c for c in linear(view.sky_color)])


@pytest.mark.parametrize("path", ["draw/points.wgsl", "draw/surface.wgsl"])
@pytest.mark.parametrize("position", ["vec3f", "vec3i"])
@pytest.mark.parametrize(
    ("color", "components"), [("", 0), ("f32", 1), ("u32", 1), ("vec3f", 3), ("vec4f", 4), ("vec3u", 3)]
)
@pytest.mark.parametrize("third", ["", "f32", "vec3f"])
@pytest.mark.parametrize("mask", [True, False])
def test_every_variant_compiles(gpu, path, position, color, components, third, mask):
    defines = {
        "POSITION": position,
        "COLOR": color,
        "COLOR_COMPONENTS": components,
        "COLORMAPPED": components == 1,
        "SAMPLE_MASK": mask,
        "GBUFFER": False,
        "PICKING": False,
        **({"PULLED": False} if path == "draw/points.wgsl" else {}),
    }
    third_name = "SIZE" if path == "draw/points.wgsl" else "NORMAL"
    if third == ("vec3f" if third_name == "SIZE" else "f32"):
        return
    defines[third_name] = third
    gpu.device.create_shader_module(code=shader.render(path, defines))
