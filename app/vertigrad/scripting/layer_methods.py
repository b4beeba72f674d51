"""`LayerMethods`: a method for each type of layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from .layer import LayerHandle


class LayerMethods(ABC):
    """Adds layers by the names of their types."""

    @abstractmethod
    def add(self, layer_type: str, name: str, **values: Any) -> LayerHandle:
        """Add a layer of a type."""

    def points(self, name: str, **values: Any) -> LayerHandle:
        """Lit or glowing spheres at `position` (n, 3), with `color` and `size`. See `add`."""
        return self.add("points", name, **values)

    def marks(self, name: str, **values: Any) -> LayerHandle:
        """Flat marks of one color at `position` (n, 3), which are faster than `points`. See `add`."""
        return self.add("marks", name, **values)

    def lines(self, name: str, **values: Any) -> LayerHandle:
        """Lines along `position` (n, 3) or (lines, n, 3), with `color` and `width`. See `add`."""
        return self.add("lines", name, **values)

    def liquid(self, name: str, **values: Any) -> LayerHandle:
        """The surface of a liquid whose particles are at `position` (n, 3). See `add`."""
        return self.add("liquid", name, **values)

    def trails(self, name: str, **values: Any) -> LayerHandle:
        """The paths that `position` (n, 3) took in the last frames. See `add`."""
        return self.add("trails", name, **values)

    def surface(self, name: str, **values: Any) -> LayerHandle:
        """A surface: `position` (rows, columns, 3), or vertices (n, 3) with triangles in `index` (m, 3). See `add`."""
        return self.add("surface", name, **values)

    def instances(self, name: str, **values: Any) -> LayerHandle:
        """A mesh at each row of `position` (n, 3), with `size` and `direction`. See `add`."""
        return self.add("instances", name, **values)

    def birds(self, name: str, **values: Any) -> LayerHandle:
        """Birds at `position` (n, 3) that fly along `direction` (n, 3). See `add`."""
        return self.add("birds", name, **values)

    def arrows(self, name: str, **values: Any) -> LayerHandle:
        """Arrows at `position` (n, 3) along `direction` (n, 3). See `add`."""
        return self.add("arrows", name, **values)

    def vectors(self, name: str, **values: Any) -> LayerHandle:
        """Arrows of a vector field `vectors` (nz, ny, nx, 3) on a grid. See `add`."""
        return self.add("vectors", name, **values)

    def streamlines(self, name: str, **values: Any) -> LayerHandle:
        """Lines along a vector field `vectors` (nz, ny, nx, 3) on a grid. See `add`."""
        return self.add("streamlines", name, **values)

    def tensor(self, name: str, **values: Any) -> LayerHandle:
        """A `tensor` of any shape, in a form that fits it: channels as images, bars, points. See `add`."""
        return self.add("tensor", name, **values)

    def volume(self, name: str, **values: Any) -> LayerHandle:
        """A field `density` (nz, ny, nx) as a translucent volume. See `add`."""
        return self.add("volume", name, **values)

    def isosurface(self, name: str, **values: Any) -> LayerHandle:
        """The surface at which a field `values` (nz, ny, nx) has one value. See `add`."""
        return self.add("isosurface", name, **values)

    def light(self, name: str, **values: Any) -> LayerHandle:
        """A rectangle, disc or sphere that emits light, such as `position=(0, 3, 0), power=200.0`. See `add`."""
        return self.add("light", name, **values)

    def slices(self, name: str, **values: Any) -> LayerHandle:
        """Slices through a field `values` (nz, ny, nx), across its axes. See `add`."""
        return self.add("slices", name, **values)

    def splats(self, name: str, **values: Any) -> LayerHandle:
        """3D Gaussians; the attributes are those of the model `splats`. See `add`."""
        return self.add("splats", name, **values)
