"""One call for a mesh: a trefoil tube by trimesh, colored by the angle along it."""

import numpy as np
import trimesh

import vertigrad as vg

angle, around = np.meshgrid(np.linspace(0, 2 * np.pi, 400), np.linspace(0, 2 * np.pi, 40), indexing="ij")
path = np.stack([np.sin(angle) + 2 * np.sin(2 * angle), np.cos(angle) - 2 * np.cos(2 * angle), -np.sin(3 * angle)], -1)
ahead = np.gradient(path, axis=0)
side = np.cross(ahead, [0.0, 0.0, 1.0])
side /= np.linalg.norm(side, axis=-1, keepdims=True)
other = np.cross(side, ahead)
other /= np.linalg.norm(other, axis=-1, keepdims=True)
tube = path + 0.45 * (np.cos(around)[..., None] * side + np.sin(around)[..., None] * other)
rows = np.arange(400 * 40).reshape(400, 40)
corners = rows[:-1, :-1], rows[1:, :-1], rows[1:, 1:], rows[:-1, 1:]
faces = np.concatenate(
    [np.stack(corners[:3], -1).reshape(-1, 3), np.stack([corners[i] for i in (0, 2, 3)], -1).reshape(-1, 3)]
)
mesh = trimesh.Trimesh(tube.reshape(-1, 3), faces, process=False)

vg.show(mesh, "Trefoil", color=angle.ravel(), colormap="romaO", roughness=0.3)
