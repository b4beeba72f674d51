"""What kinds of files can be opened; one place for the command line, dropped files, and the file browser."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError

SCENES = frozenset({".toml"})
MESHES = frozenset({".glb", ".gltf", ".obj", ".off", ".ply", ".stl"})
NETWORKS = frozenset({".onnx"})
IMAGES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
ARRAYS = frozenset({".npy", ".npz"})
MADE = NETWORKS | MESHES | IMAGES | ARRAYS  # no scenes, but one is made up for each
TOUCHES = frozenset({".jsonl"})  # records of what was done by hand: no scenes, but played by the one that runs


def require_scene(file: Path) -> None:
    """Raise `InputError`, saying what can be opened, for a file that is none of it by its name."""
    kind = file.suffix.lower()
    if kind in SCENES | MADE:
        return
    refused = f'Vertigrad does not know files of the kind "{kind}"' if kind else "this is no file of a known kind"
    raise InputError(
        f"{file.name}: {refused}; what can be opened is a scene (.toml), a network (.onnx), a mesh "
        f"({' '.join(sorted(MESHES))}), splats (.ply), an array ({' '.join(sorted(ARRAYS))}) or a picture "
        f"({' '.join(sorted(IMAGES))})"
    )
