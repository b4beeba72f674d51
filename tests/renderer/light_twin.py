"""The NumPy twin of the lighting and of the development, and rays to compare pictures pixel by pixel."""

import math

import numpy as np

from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.view import GROUND, HORIZON, SKY, linear, sun_direction

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


def lit(base, metallic, roughness, normal, to_eye, view=VIEW, camera=CAMERA):
    """`lit` of shaders/common/lighting.wgsl."""
    up = camera.rotation().T @ camera.up_direction
    sky, horizon, ground = (view.sky * np.array(tint) for tint in (SKY, HORIZON, GROUND))
    facing = np.maximum(dot(normal, to_eye), 1e-4)
    f0 = 0.04 * (1 - metallic) + base * metallic
    matt = base * (1 - metallic)

    around = ground + (0.4 * horizon + 0.6 * sky - ground) * (0.5 + 0.5 * dot(normal, up))
    mirrored = 2 * dot(normal, to_eye) * normal - to_eye
    height, spread = dot(mirrored, up), 0.06 + 0.94 * roughness
    overhead = horizon + (sky - horizon) * smoothstep(0, 1, np.maximum(height, 0))
    seen = ground + (overhead - ground) * smoothstep(-spread, spread, height)
    r = roughness * np.array([-1, -0.0275, -0.572, 0.022]) + np.array([1, 0.0425, 1.04, -0.04])
    edge = np.minimum(r[0] * r[0], 2 ** (-9.28 * facing)) * r[0] + r[1]
    reflectance = f0 * (-1.04 * edge + r[2]) + (1.04 * edge + r[3])

    sun = sun_direction(view, camera)
    sunward = np.maximum(dot(normal, sun), 0)
    half = unit(sun + to_eye)
    a2 = max(roughness**2, 0.005) ** 2
    distribution = a2 / (math.pi * (np.maximum(dot(normal, half), 0) ** 2 * (a2 - 1) + 1) ** 2)
    smith = sunward * np.sqrt(facing**2 * (1 - a2) + a2) + facing * np.sqrt(sunward**2 * (1 - a2) + a2)
    fresnel = f0 + (1 - f0) * (1 - np.maximum(dot(to_eye, half), 0)) ** 5
    gloss = fresnel * math.pi * distribution * 0.5 / smith
    direct = view.sun * np.array(linear(view.sun_color)) * sunward * (matt * (1 - fresnel) + gloss)
    return direct + matt * around + reflectance * seen


LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


def developed(light, exposure=1.0):
    """`film` of shaders/draw/develop.wgsl and the sRGB encoding, as 0 to 255."""
    light = light * exposure
    drawn = (0.88 * light + 0.12 * dot(light, LUMINANCE)) ** 1.5
    half_way, white = 0.18**1.5 * (1 / 0.18 - 1), 12.0**1.5
    shown = drawn / (drawn + half_way) * ((white + half_way) / white)
    shown = np.clip((shown - 0.1 * dot(shown, LUMINANCE)) / 0.9, 0, 1)
    return 255 * np.where(shown <= 0.0031308, 12.92 * shown, 1.055 * shown ** (1 / 2.4) - 0.055)


def rays(camera=CAMERA, size=SIZE):
    """Directions through the middles of the pixels, in eye space."""
    width, height = size
    x, y = np.meshgrid(np.arange(width) + 0.5 - width / 2, height / 2 - np.arange(height) - 0.5)
    return unit(np.stack([x * camera.pixel(height), y * camera.pixel(height), -np.ones_like(x)], axis=-1))


def sphere(centre, radius, camera=CAMERA):
    """Distance along each ray to a sphere in world space (infinite where missed), and the normals there."""
    ray = rays(camera)
    centre = (camera.view() @ [*centre, 1.0])[:3]
    along = dot(ray, centre)
    inside = radius**2 - (centre @ centre - along**2)
    distance = np.where(inside >= 0, along - np.sqrt(np.maximum(inside, 0)), np.inf)
    return distance[..., 0], unit(np.where(inside >= 0, distance * ray, ray) - centre)
