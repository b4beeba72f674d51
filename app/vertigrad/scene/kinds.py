"""The kinds of files that can be opened: for the command line, dropped files, and the file browser."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError

SCENES = frozenset({".toml"})
ASSETS = frozenset({".glb", ".gltf"})  # meshes with materials
MESHES = ASSETS | {".obj", ".off", ".ply", ".stl"}
SPLATS = frozenset({".splat", ".spz"})  # and PLY files of splats
NETWORKS = frozenset({".onnx"})
IMAGES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
VIDEOS = frozenset({".gif", ".m4v", ".mkv", ".mov", ".mp4", ".webm"})
ARRAYS = frozenset({".npy", ".npz"})
POINTS = frozenset({".csv", ".las", ".laz", ".parquet"})  # and PLY files without faces, and arrays (n, 3)
VOLUMES = frozenset({".dcm", ".dicom", ".gz", ".ima", ".nii", ".nrrd", ".vdb"})  # .gz: of NIfTI only
RECORDINGS = frozenset({".vgz", ".json"})  # of runs, by `vertigrad record`; .json: zarr.json of a folder only
DATA = (  # a scene is generated for each
    VOLUMES | NETWORKS | MESHES | SPLATS | POINTS | IMAGES | VIDEOS | ARRAYS | RECORDINGS
)
LIGHTS = frozenset({".exr", ".hdr"})  # images of light, which light the running scene
INTERACTIONS = frozenset({".jsonl"})  # interaction recordings, played by the running scene


UNREAD = {  # common formats that are not supported, with advice
    **dict.fromkeys((".e57", ".pcd", ".pts", ".xyz"), "convert the points to LAS, PLY or CSV, or to .npy (n, 3)"),
    **dict.fromkeys((".ksplat", ".sog"), "convert the splats to PLY"),
    **dict.fromkeys((".3ds", ".3mf", ".blend", ".dae", ".fbx", ".usd", ".usdz"), "export the mesh as .glb"),
    **dict.fromkeys((".h5", ".hdf5", ".nc", ".vtk", ".vtu", ".vti", ".mat"), "save the array as .npy"),
    **dict.fromkeys(LIGHTS, "drop it on the window of a scene, or name it there as environment_file of the view"),
    ".svg": "save the image as .png",
    **dict.fromkeys((".pt", ".pt2"), 'name it in a scene, in a model of type "torch", or export it as .onnx'),
    **dict.fromkeys((".pth", ".safetensors"), "export the network as .onnx"),
}


def is_photos(path: Path) -> bool:
    """Whether this is a sparse model of COLMAP, or a folder that has one: splats are trained on its photos."""
    from ..models.data import colmap

    return colmap.is_sparse_model(path)


def scene_name(path: Path) -> Path:
    """The path with the suffix `.toml`, which replaces that of a data file."""
    if path.suffix.lower() in SCENES:
        return path
    return path.with_suffix(".toml") if path.suffix.lower() in DATA else path.with_name(f"{path.name}.toml")


def require_scene(file: Path) -> None:
    """Raise `InputError`, which lists what can be opened, for a file with another suffix."""
    kind, name = file.suffix.lower(), file.name.lower()
    if kind in SCENES | DATA - {".gz", ".json"} or name.endswith(".nii.gz") or name == "zarr.json" or is_photos(file):
        return
    refused = f'Vertigrad does not know files of the kind "{kind}"' if kind else "this is not a file of a known kind"
    if kind in UNREAD:
        refused += f": {UNREAD[kind]}"
    meshes, splats, points, volumes, arrays, images, videos = (
        " ".join(sorted(known)) for known in (MESHES, SPLATS, POINTS, VOLUMES - {".gz"}, ARRAYS, IMAGES, VIDEOS)
    )
    raise InputError(
        f"{file.name}: {refused}; what can be opened is a scene (.toml), a network (.onnx), a mesh ({meshes}), splats "
        f"(.ply {splats}), points (.ply {points}), a volume ({volumes} .nii.gz), an array ({arrays}), an image "
        f"({images}), a video ({videos}), a recording (.vgz, or zarr.json in a folder), or a folder of photos with a "
        "sparse model of COLMAP"
    )
