"""Noise is removed from an image by anisotropic diffusion (Perona & Malik 1990), on the GPU: before and after."""

import numpy as np
from PIL import Image

import vertigrad as vg
from vertigrad import Tensor, ops, resources

with Image.open(resources.path("assets", "data", "blossom.png")) as photo:
    clean = np.asarray(photo.convert("RGB").resize((240, 240)), np.float32) / 255
random = np.random.default_rng(0)
noisy = np.clip(clean + random.normal(0, 0.12, clean.shape), 0, 1).astype(np.float32)

viewer = vg.Viewer("Denoising")
both = viewer.add("image", "images", pixels=np.concatenate([noisy, noisy], axis=1), smooth=False)
conduction = viewer.slider("edge", 0.08, min=0.02, max=0.5, doc="differences above this are edges, which stay")
speed = viewer.slider("speed", 0.2, min=0.0, max=0.24, doc="step of the explicit scheme; stable below 0.25")
viewer.camera(position=(0, 0, 1.7), orthographic=True)
error = viewer.plot("mean error", x_unit="steps")


def flow(difference: Tensor) -> Tensor:
    """What flows along a difference: little where it is large."""
    return difference * ops.exp(-ops.square(difference * (1 / conduction.value)))


denoised, reference = both.pixels[:, 240:], Tensor.from_numpy(clean)
viewer.button("Begin again", lambda: ops.assign(denoised, Tensor.from_numpy(noisy)))

for step in viewer.frames():
    if step.dt == 0.0:
        continue
    down, right = flow(denoised[1:] - denoised[:-1]), flow(denoised[:, 1:] - denoised[:, :-1])
    change = ops.zeros_like(reference)
    change[:-1] += down
    change[1:] -= down
    change[:, :-1] += right
    change[:, 1:] -= right
    denoised += change * speed.value
    if step.number % 10 == 0:
        error.append(ops.mean(ops.absolute(denoised - reference)), x=step.number)
