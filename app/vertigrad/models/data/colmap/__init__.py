"""COLMAP's sparse models: cameras, images with poses, and points; and the images, undistorted."""

from .cameras import Camera, Pinhole
from .sparse_model import Photo, SparseModel, find, is_sparse_model, read

__all__ = ["Camera", "Photo", "Pinhole", "SparseModel", "find", "is_sparse_model", "read"]
