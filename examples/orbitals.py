"""Orbitals of hydrogen: isosurfaces of a field on a grid, cut open by a plane with handles."""

import numpy as np

import vertigrad as vg

SIDE, EXTENT = 72, 20.0  # samples along each edge of the box, and half of the edge in Bohr radii
line = np.linspace(-EXTENT, EXTENT, SIDE)
z, y, x = np.meshgrid(line, line, line, indexing="ij")
r = np.sqrt(x**2 + y**2 + z**2)
ORBITALS = {  # not normalized
    "3d z²": (2 * z**2 - x**2 - y**2) * np.exp(-r / 3),
    "3d x²−y²": (x**2 - y**2) * np.exp(-r / 3),
    "2p x": x * np.exp(-r / 2),
    "3p z": z * (6 - r) * np.exp(-r / 3),
}

viewer = vg.Viewer("Orbitals")
orbital = viewer.choice("orbital", list(ORBITALS))
level = viewer.slider("level", 0.25, min=0.02, max=0.9, doc="fraction of the largest amplitude")
is_cut = viewer.checkbox("cut", True, doc="cut off what is in front of the plane")
box = {"low": (-1, -1, -1), "high": (1, 1, 1), "roughness": 0.35}
field = np.zeros((SIDE, SIDE, SIDE), np.float32)
positive = viewer.isosurface("positive", values=field, level=0.25, color="#e08a3c", **box)
negative = viewer.isosurface("negative", values=field, level=0.25, color="#3c7fd0", **box)
viewer.camera(position=(1.6, -2.0, 0.8), up="z")
viewer.gizmo("view.clip_origin")

shown = ""
for _ in viewer.frames():
    if orbital.value != shown:
        shown = orbital.value
        amplitude = ORBITALS[shown] / np.abs(ORBITALS[shown]).max()
        positive.values, negative.values = amplitude, -amplitude
    positive.level = negative.level = level.value
    viewer.view(clip_normal=(0, -1, 0) if is_cut.value else "none")
