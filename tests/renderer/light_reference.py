"""The NumPy reference of the lighting and of the tone mapping, and rays to compare images pixel by pixel."""

import math

import numpy as np

from vertigrad.params.color_space import linear
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.view import sun_direction

SIZE = (160, 120)
CAMERA = OrbitCamera(distance=4.0, yaw=0.3, pitch=0.4, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000", sun_azimuth=50.0, sun_elevation=35.0)


def dot(a, b):
    return np.sum(a * b, axis=-1, keepdims=True)


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def smoothstep(low, high, x):
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def lit(base, metallic, roughness, normal, to_eye, view=VIEW, camera=CAMERA, sky_open=1.0):
    """`lit_where` of shaders/common/lighting.wgsl, in full sun."""
    up = camera.rotation().T @ camera.up_direction
    tints = view.sky_color, view.horizon_color, view.ground_color
    sky, horizon, ground = (view.sky * np.array(linear(tint)) for tint in tints)
    facing = np.maximum(dot(normal, to_eye), 1e-4)
    around = ground + (0.4 * horizon + 0.6 * sky - ground) * (0.5 + 0.5 * dot(normal, up))
    mirrored = 2 * dot(normal, to_eye) * normal - to_eye
    height, spread = dot(mirrored, up), 0.06 + 0.94 * roughness
    overhead = horizon + (sky - horizon) * smoothstep(0, 1, np.maximum(height, 0))
    radiance = ground + (overhead - ground) * smoothstep(-spread, spread, height)
    once, often, below, _ = shares(base, metallic, roughness, facing)

    sun = sun_direction(view, camera)
    direct = view.sun * np.array(linear(view.sun_color)) * direct_light(base, metallic, roughness, normal, to_eye, sun)
    mirrored_open = np.clip((facing + sky_open) ** 2 ** (-16 * roughness - 1) - 1 + sky_open, 0, 1)
    return direct + (often + below) * around * sky_open + once * radiance * mirrored_open


def direct_light(base, metallic, roughness, normal, to_eye, direction):
    """For each unit of light from `direction`, of the radiance of a white matt surface that faces it."""
    facing = np.maximum(dot(normal, to_eye), 1e-4)
    f0 = 0.04 * (1 - metallic) + base * metallic
    _, _, below, gain = shares(base, metallic, roughness, facing)
    toward = np.maximum(dot(normal, direction), 0)
    half = unit(direction + to_eye)
    a2 = max(roughness**2, 0.005) ** 2
    distribution = a2 / (math.pi * (np.maximum(dot(normal, half), 0) ** 2 * (a2 - 1) + 1) ** 2)
    smith = toward * np.sqrt(facing**2 * (1 - a2) + a2) + facing * np.sqrt(toward**2 * (1 - a2) + a2)
    fresnel = f0 + (1 - f0) * (1 - np.maximum(dot(to_eye, half), 0)) ** 5
    gloss = fresnel * math.pi * distribution * 0.5 / smith
    return toward * (below + gloss * gain)


def appendix_b(base, metallic, roughness, normal, to_eye, direction):
    """The same by Appendix B of the glTF 2.0 specification, which leaves out light that goes from facet to facet."""
    facing, toward = np.maximum(dot(normal, to_eye), 1e-4), np.maximum(dot(normal, direction), 0)
    half = unit(direction + to_eye)
    a2 = roughness**4
    distribution = a2 / (math.pi * (dot(normal, half) ** 2 * (a2 - 1) + 1) ** 2)
    masking = [1 / (c + np.sqrt(a2 + (1 - a2) * c**2)) for c in (facing, toward)]
    f0 = 0.04 * (1 - metallic) + base * metallic
    fresnel = f0 + (1 - f0) * (1 - np.abs(dot(to_eye, half))) ** 5
    diffuse = (1 - fresnel) * base * (1 - metallic) / math.pi
    return math.pi * toward * (diffuse + fresnel * masking[0] * masking[1] * distribution)


def sky_reflectance(roughness, facing):
    """The reflection of a white sky by microfacets: per unit of f0, and the offset."""
    r = np.array([roughness, roughness**2, roughness**3])
    lost = r @ [0.7115, -1.5464, 0.959]
    lost = lost + facing * (r @ [-2.7731, 8.9218, -5.0051] + facing * (r @ [1.7904, -6.4859, 4.1284]))
    power = 5.1112 - 8.0424 * r[0] + 8.8285 * r[1]
    edge = (1.0818 - 2.4794 * r[0] + 1.4815 * r[1]) * (1 - np.minimum(facing, 1)) ** power
    return 1 - np.clip(lost, 0, 0.75) - edge, edge


def shares(base, metallic, roughness, facing):
    """Ambient light: reflected once, multiply, scattered below; and the gain of the sun's reflection."""
    per_f0, offset = sky_reflectance(roughness, facing)
    every = per_f0 + offset
    paint, metal = 0.04 * per_f0 + offset, base * per_f0 + offset
    often = [
        once * mean / (1 - mean * (1 - every)) * (1 - every)
        for once, mean in ((paint, 0.04 + 0.96 / 21), (metal, base + (1 - base) / 21))
    ]
    below = base * (1 - metallic) * (1 - paint - often[0])
    f0 = 0.04 * (1 - metallic) + base * metallic
    once, often = (a * (1 - metallic) + b * metallic for a, b in ((paint, metal), often))
    return once, often, below, 1 + f0 * (1 / every - 1)


LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def tone_mapped(light, exposure=1.0, tone_map="film"):
    """A tone map of shaders/common/tone_map.wgsl and the sRGB encoding, as 0 to 255."""
    curve = {"film": film, "none": lambda light: np.clip(light, 0, 1), "agx": agx, "neutral": neutral}[tone_map]
    return 255 * encoded(curve(light * exposure))


def film(light):
    drawn = (0.88 * light + 0.12 * dot(light, LUMINANCE)) ** 1.5
    middle_gray, white = 0.18**1.5 * (1 / 0.18 - 1), 12.0**1.5
    shown = drawn / (drawn + middle_gray) * ((white + middle_gray) / white)
    return np.clip((shown - 0.1 * dot(shown, LUMINANCE)) / 0.9, 0, 1)


def agx(light):
    """Wrensch 2023; its matrices are inverse to each other, and gray stays gray."""
    rows = np.array(
        [
            [0.842479062253094, 0.0784335999999992, 0.0792237451477643],
            [0.0423282422610123, 0.878468636469772, 0.0791661274605434],
            [0.0423756549057051, 0.0784336, 0.879142973793104],
        ]
    )
    x = np.clip((np.log2(np.maximum(light @ rows.T, 1e-10)) + 12.47393) / (4.026069 + 12.47393), 0, 1)
    curve = np.polynomial.polynomial.polyval(x, [-0.00232, 0.1191, 0.4298, -6.868, 31.96, -40.14, 15.5])
    return np.clip(curve @ np.linalg.inv(rows).T, 0, 1) ** 2.2


def neutral(light):
    """The specification of Khronos's PBR Neutral Tone Mapper."""
    least = light.min(axis=-1, keepdims=True)
    color = light - np.where(least < 0.08, least - 6.25 * least**2, 0.04)
    peak = color.max(axis=-1, keepdims=True)
    compressed = 1 - 0.24**2 / (peak + 0.24 - 0.76)
    gray = 1 - 1 / (0.15 * (peak - compressed) + 1)
    return np.where(peak < 0.76, color, color * compressed / peak * (1 - gray) + compressed * gray)


def displayed(color, alpha=1.0, behind=0.0):
    """A display-referred color blended over another, sRGB from 0 to 1, as 0 to 255."""
    return 255 * np.clip(np.asarray(color) * alpha + np.asarray(behind) * (1 - alpha), 0, 1)


def encoded(light):
    """The sRGB encoding of linear light."""
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * np.maximum(light, 0) ** (1 / 2.4) - 0.055)


def rays(camera=CAMERA, size=SIZE):
    """Directions through the centers of the pixels, in eye space."""
    width, height = size
    x, y = np.meshgrid(np.arange(width) + 0.5 - width / 2, height / 2 - np.arange(height) - 0.5)
    return unit(np.stack([x * camera.pixel(height), y * camera.pixel(height), -np.ones_like(x)], axis=-1))


def sphere(center, radius, camera=CAMERA):
    """Distance along each ray to a sphere in world space (infinite where missed), and the normals there."""
    ray = rays(camera)
    center = (camera.view() @ [*center, 1.0])[:3]
    along = dot(ray, center)
    inside = radius**2 - (center @ center - along**2)
    distance = np.where(inside >= 0, along - np.sqrt(np.maximum(inside, 0)), np.inf)
    return distance[..., 0], unit(np.where(inside >= 0, distance * ray, ray) - center)


def row_number(row: int) -> float:
    """`row_number` of shaders/common/row_number.wgsl, in integers of 32 bits."""
    state = (row * 747796405 + 2891336453) & 0xFFFFFFFF
    word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737 & 0xFFFFFFFF
    return (((word >> 22) ^ word) >> 8) / 2**24
