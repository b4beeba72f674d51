"""Area lights: irradiance against closed forms, shadows, limits; drawn and path-traced."""

import math

import numpy as np
import pytest

from vertigrad.errors import LimitError, SceneError
from vertigrad.path_trace import PathTracer, TracedImage, flat_view, gather
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.area_lights import MOST_LIGHTS
from vertigrad.renderer.layers.light import LightStyle, area_light, area_lights
from vertigrad.scene import load

LOOK = {"sky": 0.0, "bloom": 0.0, "vignette": 0.0, "background": "#000000", "tone_map": "none"}
DARK = View(sun=0.0, **LOOK)
SUN = View(sun=1.0, sun_color=(1, 1, 1), sun_elevation=90.0, sun_angle=0.5, **LOOK)
INDEX = np.array([0, 1, 2, 0, 2, 3], np.uint32)
LEVEL = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], np.float32)
DOWN = OrbitCamera(distance=4.0, pitch=1.57, fov=1.0)  # the origin from above
MATT = {"roughness": 1.0, "metallic": 0.0}


def square(layer, style=None, color="#ffffff"):
    return layer("surface", style or MATT, position=2.0 * LEVEL, index=INDEX, color=color)


def traced(gpu, layers, camera, view, size=(16, 16), samples=48):
    tracer = PathTracer(gpu, gather(layers), view, camera, size, bounces=0)
    while tracer.samples < samples:
        tracer.advance(samples)
    return tracer


def linear(image):
    image = image / 255.0
    return np.where(image <= 0.04045, image / 12.92, ((image + 0.055) / 1.055) ** 2.4)


def facing_rectangle(width, height, distance):
    """The form factor of a rectangle, of a point below its middle that it faces (Howell's catalog, four times C-11)."""
    x, y = width / 2 / distance, height / 2 / distance
    return 2 / math.pi * sum(a / math.hypot(1, a) * math.atan(b / math.hypot(1, a)) for a, b in ((x, y), (y, x)))


@pytest.mark.parametrize(
    ("style", "form_factor"),
    [
        ({"width": 1.0, "height": 0.6}, facing_rectangle(1.0, 0.6, 1.0)),
        ({"width": 8.0, "height": 0.5, "roll": 30.0}, facing_rectangle(8.0, 0.5, 1.0)),
        ({"shape": "disc", "width": 1.0, "height": 1.0}, 0.25 / 1.25),
        ({"shape": "sphere", "width": 1.0}, 0.25),
    ],
    ids=["rectangle", "tube", "disc", "sphere"],
)
def test_irradiance_is_that_of_the_form_factor(gpu, layer, render, style, form_factor):
    """Of a point below a light: drawn within 1.5 %, path-traced within 2.5 % of the light of a sun of this irradiance.

    What white has more than black is scattered below the facets, evenly.
    """
    style = {"position": (0, 1, 0), "visible": False, "shadows": False, **style}
    power = 0.8 / form_factor * math.pi * area_light(LightStyle(**style)).area
    lamp = layer("light", {**style, "power": power})

    def drawn(color, layers, view):
        return linear(render([square(layer, color=color), *layers], DOWN, view, (16, 16)).astype(float)).mean()

    def path(color, layers, view):
        tracer = traced(gpu, [square(layer, color=color), *layers], DOWN, view)
        found = tracer.light()[..., :3].mean()
        tracer.close()
        return found

    for light, tolerance in ((drawn, 0.015), (path, 0.025)):
        of_sun, of_lamp = (
            light("#ffffff", layers, view) - light("#000000", layers, view)
            for layers, view in (([], SUN), ([lamp], DARK))
        )
        assert of_lamp == pytest.approx(0.8 * of_sun, rel=tolerance)
        assert of_sun > 0.5


@pytest.mark.turns(2)
@pytest.mark.parametrize(("metallic", "roughness", "bound"), [(0.0, 0.9, 1.2), (1.0, 0.4, 3.5), (1.0, 0.15, 1.6)])
@pytest.mark.parametrize("shape", ["rectangle", "sphere"])
def test_the_renderer_draws_the_light_of_the_path_tracer(gpu, layer, render, shape, metallic, roughness, bound):
    """A ball on a square with its soft shadow: the mean difference, in levels of 255.

    Most of that of rough metal is the fitted reflectance of the renderer.
    """
    style = {"metallic": metallic, "roughness": roughness}
    lamp = {"shape": shape, "position": (0.6, 1.2, 0.3), "width": 0.8, "height": 0.5, "power": 8.0, "visible": False}
    layers = [
        layer("points", style, position=np.float32([[0, 0.3, 0]]), color="#d0a080", size=0.3),
        square(layer, style, "#b0b8c0"),
        layer("light", lamp),
    ]
    camera, size = OrbitCamera(distance=4.0, pitch=0.5), (96, 64)
    drawn = render(layers, camera, DARK, size).astype(float)
    tracer = traced(gpu, layers, camera, DARK, size, 40)
    shown = render([TracedImage(gpu, tracer)], camera, flat_view(DARK), size).astype(float)
    tracer.close()
    assert drawn.max() > 90
    assert np.abs(drawn - shown).mean() < bound


@pytest.mark.parametrize("height", [0.3, 0.8])
def test_a_penumbra_is_as_wide_as_light_and_distance_make_it(layer, render, height):
    """Below the edge of a half plane, from above: three quarters of the light arrive half way out, within a third."""
    far = 20.0
    edge = np.float32([[0, height, -far], [far, height, -far], [far, height, far], [0, height, far]])
    lamp = {"position": (0, 2, 0), "width": 0.4, "height": 0.4, "power": 20.0, "visible": False}
    layers = [square(layer), layer("light", lamp)]
    camera = OrbitCamera(distance=4.0, pitch=1.57, fov=8.0, orthographic=True)  # 0.56 units high
    size = (128, 128)
    whole = linear(render(layers, camera, DARK, size).astype(float))[:, :, 0]
    layers.append(layer("surface", MATT, position=edge, index=INDEX))
    part = linear(render(layers, camera, DARK, size).astype(float))[:, :, 0] / whole
    left = part[:, :64].mean(axis=0)[::-1]  # from the edge outward
    width = 2.0 * camera.half_height / 128
    expected = 0.5 * 0.2 * height / (2.0 - height)
    assert (np.argmax(left > 0.75) + 0.5) * width == pytest.approx(expected, rel=0.33)
    assert left[-1] > 0.98


def test_what_is_visible_of_a_light_is_its_front(layer, render):
    for shape in ("rectangle", "disc", "sphere"):
        style = {"shape": shape, "position": (0, 0, 0), "target": (0, 0, 1), "width": 1.0, "height": 1.0}
        lamp = layer("light", {**style, "power": 1000.0})
        front = render([lamp], OrbitCamera(distance=3.0, pitch=0.0), DARK, (32, 32))[:, :, 0] > 200
        behind = render([lamp], OrbitCamera(distance=3.0, pitch=0.0, yaw=math.pi), DARK, (32, 32))[:, :, 0] > 200
        assert front[16, 16] and not front[0, 0]
        assert behind[16, 16] == (shape == "sphere")
        area = {"rectangle": 165, "disc": 128, "sphere": 134}[shape]
        assert front.sum() == pytest.approx(area, rel=0.15)
    lamp.style.visible = False
    assert render([lamp], OrbitCamera(distance=3.0), DARK, (32, 32)).max() <= 1  # of 255, dithered


def test_width_is_level_and_the_power_is_radiated():
    light = area_light(
        LightStyle(position=(0, 0, 5), target=(0, 0, 0), width=2.0, height=1.0, power=10.0, color="#ff0000")
    )
    assert abs(light.right[0]) == pytest.approx(1.0) and light.above == pytest.approx((0, 0.5, 0))
    assert np.cross(light.right, light.above) @ (0, 0, -1) > 0
    assert light.radiance[0] * math.pi * light.area == pytest.approx(10.0) and light.radiance[1] == 0.0
    same = area_light(LightStyle(position=(1, 1, 1), target=(1, 1, 1)))  # no direction: down
    assert np.isfinite(same.right).all() and np.cross(same.right, same.above)[1] < 0


def test_there_may_be_eight(layer, tmp_path):
    lamps = [layer("light") for _ in range(MOST_LIGHTS)]
    assert len(area_lights(lamps)) == MOST_LIGHTS
    with pytest.raises(LimitError, match="9 layers of the type light; an image may have 8"):
        area_lights([*lamps, layer("light")])
    file = tmp_path / "lamps.toml"
    file.write_text("version = 1\n" + "".join(f"[layers.lamp_{n}]\ntype = 'light'\n" for n in range(9)))
    with pytest.raises(SceneError, match=r"layers\.lamp_8.*there may be 8 layers of the type light"):
        load(file)


SMOKE = {"samples": "nodes", "low": (-0.5,) * 3, "high": (0.5,) * 3, "density_range": (0.0, 1.0), "shadow": 1.0}


@pytest.mark.parametrize("anisotropy", [0.0, 0.6])
def test_a_far_light_lights_a_volume_as_a_sun_of_its_irradiance(layer, render, anisotropy):
    """Thick smoke, from aside: within 3 % of the mean, and each pixel within 6 of 255 levels."""
    style = {**SMOKE, "extinction": 3.0, "anisotropy": anisotropy}
    smoke = layer("volume", style, density=np.ones((9, 9, 9), np.float32), color=(1.0, 1.0, 1.0))
    lamp = {"shape": "disc", "position": (0, 30, 0), "width": 2.0, "height": 2.0, "visible": False, "shadows": False}
    lamp = layer("light", {**lamp, "power": 0.8 * math.pi**2 * 900.0})  # its irradiance is power / pi / 900
    view = SUN.model_copy(update={"sun": 0.8})
    camera = OrbitCamera(distance=3.0, pitch=0.3, yaw=0.4, fov=30.0)
    of_sun, of_lamp = (
        render(layers, camera, one, (48, 48)).astype(float) for layers, one in (([smoke], view), ([smoke, lamp], DARK))
    )
    assert of_sun.max() > 60
    assert of_lamp.mean() == pytest.approx(of_sun.mean(), rel=0.03)
    assert np.abs(of_lamp - of_sun).max() <= 6


@pytest.mark.parametrize(
    ("shape", "width", "height"), [("rectangle", 1.0, 0.6), ("disc", 1.0, 1.0), ("sphere", 0.8, 0.8)]
)
def test_the_light_of_a_near_light_in_a_volume_is_its_solid_angle(layer, render, shape, width, height):
    """Thin smoke half a unit below it, without shadows and anisotropy: of what the smoke takes away, within 4 %."""
    small = {"low": (-0.02,) * 3, "high": (0.02,) * 3, "extinction": 8.0, "anisotropy": 0.0, "shadow": 0.0}
    smoke = layer("volume", {**SMOKE, **small}, density=np.ones((5, 5, 5), np.float32), color=(1.0, 1.0, 1.0))
    style = {"shape": shape, "position": (0, 0.5, 0), "width": width, "height": height, "visible": False}
    lamp = layer("light", {**style, "power": 2.0})
    x, y = width / 2, height / 2
    angle = {
        "rectangle": 4 * math.asin(x * y / math.sqrt((x * x + 0.25) * (y * y + 0.25))),
        "disc": 2 * math.pi * (1 - 0.5 / math.hypot(0.5, x)),
        "sphere": 2 * math.pi * (1 - math.sqrt(1 - x * x / 0.25)),
    }[shape]
    radiance = 2.0 / math.pi / area_light(LightStyle(**style)).area
    camera = OrbitCamera(distance=0.5, pitch=0.0, fov=1.0)
    found = linear(render([smoke, lamp], camera, DARK, (8, 8)).astype(float)).mean()
    assert found == pytest.approx(0.85 * radiance * angle / math.pi * (1 - math.exp(-0.32)), rel=0.04)
