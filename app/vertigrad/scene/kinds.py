"""What kinds of files can be opened; one place for the command line, dropped files, and the file browser."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError

SCENES = frozenset({".toml"})
MESHES = frozenset({".glb", ".gltf", ".obj", ".off", ".ply", ".stl"})
NETWORKS = frozenset({".onnx"})
IMAGES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
VIDEOS = frozenset({".gif", ".m4v", ".mkv", ".mov", ".mp4", ".webm"})
ARRAYS = frozenset({".npy", ".npz"})
MADE = NETWORKS | MESHES | IMAGES | VIDEOS | ARRAYS  # no scenes, but one is made up for each
INTERACTIONS = frozenset({".jsonl"})  # interaction recordings: no scenes, but played by the one that runs


UNREAD = {  # what is often tried, and what to do with it
    **dict.fromkeys((".las", ".laz", ".e57", ".pcd", ".pts", ".xyz"), "convert the points to PLY, or to .npy (n, 3)"),
    **dict.fromkeys((".splat", ".spz", ".ksplat"), "convert the splats to PLY"),
    **dict.fromkeys((".3ds", ".3mf", ".blend", ".dae", ".fbx", ".usd", ".usdz"), "export the mesh as .glb"),
    **dict.fromkeys((".h5", ".hdf5", ".nc", ".vtk", ".vtu", ".vti", ".csv", ".mat"), "save the array as .npy"),
    **dict.fromkeys((".exr", ".hdr", ".svg"), "save the image as .png"),
    **dict.fromkeys((".pt", ".pth", ".safetensors"), "export the network as .onnx"),
}


def scene_name(path: Path) -> Path:
    """The path of a scene file that is to be called so: with `.toml` at its end, in place of that of data."""
    if path.suffix.lower() in SCENES:
        return path
    return path.with_suffix(".toml") if path.suffix.lower() in MADE else path.with_name(f"{path.name}.toml")


def require_scene(file: Path) -> None:
    """Raise `InputError`, saying what can be opened, for a file that is none of it by its name."""
    kind = file.suffix.lower()
    if kind in SCENES | MADE:
        return
    refused = f'Vertigrad does not know files of the kind "{kind}"' if kind else "this is no file of a known kind"
    if kind in UNREAD:
        refused += f": {UNREAD[kind]}"
    raise InputError(
        f"{file.name}: {refused}; what can be opened is a scene (.toml), a network (.onnx), a mesh "
        f"({' '.join(sorted(MESHES))}), splats (.ply), an array ({' '.join(sorted(ARRAYS))}), an image "
        f"({' '.join(sorted(IMAGES))}) or a video ({' '.join(sorted(VIDEOS))})"
    )
