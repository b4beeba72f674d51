"""`PhotoRaster`: trained splats drawn as cameras see them, tile by tile, and the backward pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ... import ops
from ...gpu import Kernel
from ...ops.scans import scan
from ...tensor import Tensor, u32
from ..parts import Parts

PROJECT, TILES = "models/splat_photos_project.wgsl", "models/splat_photos_tiles.wgsl"
LISTS = "draw/splat_lists.wgsl"
TILE = 16  # pixels, across and down; mirrored in the shaders
SUMS, CHUNK = 9, 32  # mirrored in the shaders
BLUR = 0.3  # pixels²; as in the layer that draws splats
NO_BACKGROUND = {"background": (0.0, 0.0, 0.0)}  # for the kernels that do not use it
NAMES = ("position", "scale", "rotation", "opacity", "color", "harmonics")  # of what is trained, in their order


class Image(NamedTuple):
    """What all cameras share: rows and columns of pixels, and the depth below which nothing is visible."""

    rows: int
    columns: int
    near: float

    @property
    def tiles(self) -> tuple[int, int]:
        """How many there are across and down."""
        return -(-self.columns // TILE), -(-self.rows // TILE)


class PhotoRaster:
    """Draws `rows` splats, as far as there is memory for the pairs of a splat and a tile that it touches.

    What is trained is a mapping of `NAMES`, without harmonics for colors that are the same from all sides; layouts,
    also of `cameras`, are those of shaders/models/splat_photos_project.wgsl. All functions can be recorded into a plan;
    then the fields that are not given stay open: `view`, `count`, `degree` and `background`.
    """

    def __init__(self, parts: Parts, image: Image, cameras: Tensor, rows: int, pairs: int, harmonics: int):
        self.rows, self.pairs, self.image_size = rows, pairs, image
        self._cameras, self._defines = cameras, {"HARMONICS": harmonics}
        across, down = image.tiles
        self._tensors = {
            name: parts.empty(f"raster.{name}", *shape)
            for name, shape in {
                **{"projected": (3 * rows, 4), "image": (image.rows, image.columns, 3), "sums": (rows, SUMS + 1)},
                **{"partial": (pairs, SUMS), "chunks": (-(-pairs // CHUNK), SUMS)},
            }.items()
        }
        self._words = {
            name: parts.zeros(f"raster.{name}", *shape, dtype=u32)
            for name, shape in {
                **dict.fromkeys(("keys", "counts", "order", "touched", "starts"), (rows,)),
                **dict.fromkeys(("tiles", "pair_rows", "sorted", "numbers"), (pairs,)),
                **{"rects": (rows, 2), "ranges": (across * down, 2), "total": (1,), "draw": (4,)},
            }.items()
        }
        self.factor = parts.zeros("raster.factor", 1)
        self.status = parts.zeros("raster.status", 2, dtype=u32)

    @property
    def image(self) -> Tensor:
        """The image (rows, columns, 3) that was drawn last, sRGB."""
        return self._tensors["image"]

    def draw(self, learned: Mapping[str, Tensor], **fields: Any) -> None:
        """Draw the `image` of a view."""
        words, projected = self._words, self._tensors["projected"]
        written = {"projected": projected, **{name: words[name] for name in ("keys", "counts", "rects")}}
        kernel = Kernel.load(PROJECT, "project", self._defines | {"ENTRY": "project"})
        self._launch(kernel, self.rows, tuple(written), {**learned, **written, "cameras": self._cameras}, fields)
        self._list()
        self._run("blend", self._lanes, ("image",), fields, projected=projected, **self._lists, image=self.image)

    def backward(
        self, learned: Mapping[str, Tensor], gradient: Tensor, by: Mapping[str, Tensor], moves: Tensor, **fields: Any
    ) -> None:
        """Write the gradients of what is trained from that of the image, which must have been drawn last.

        To `moves` (rows, 2) are added, of each visible row, the length of the gradient by its middle, in half widths of
        the image, and 1.
        """
        tensors, words = self._tensors, self._words
        image = {"finished": self.image, "gradient": gradient, "partial": tensors["partial"]}
        self._run(
            "blend_backward", self._lanes, (), NO_BACKGROUND, projected=tensors["projected"], **self._lists, **image
        )
        pairs = {"pair_rows": words["pair_rows"], "total": words["total"], "partials": tensors["partial"]}
        self._run("add_chunks", tensors["chunks"].size, (), NO_BACKGROUND, **pairs, chunks=tensors["chunks"])
        rows = {name: words[name] for name in ("touched", "starts", "total")} | {"status": self.status}
        sums = {"partials": tensors["partial"], "chunk_sums": tensors["chunks"], "sums": tensors["sums"]}
        self._run("add_rows", tensors["sums"].size, ("sums",), NO_BACKGROUND, **rows, **sums)
        kernel = Kernel.load(PROJECT, "project_backward", self._defines | {"ENTRY": "backward"})
        results = {f"by_{name}": tensor for name, tensor in by.items()}
        sources = {"projected": tensors["projected"], "order": words["order"], "sums": tensors["sums"]}
        sources |= {"cameras": self._cameras, "moves": moves}
        self._launch(kernel, self.rows, tuple(results), {**learned, **results, **sources}, fields)

    def judge(self) -> None:
        """Set `factor` to −1 if the pairs of this image, or of one since `status` was set to 0, had no room; else to 1.

        `status` gets the most pairs of an image, and how many images were complete.
        """
        tensors = {"total": self._words["total"], "status": self.status, "factor": self.factor}
        self._run("judge", 1, ("factor",), NO_BACKGROUND, **tensors)

    # inside -----------------------------------------------------------------------------------------------------

    @property
    def _lists(self) -> dict[str, Tensor]:
        words = self._words
        return {"pairs": words["numbers"], "pair_rows": words["pair_rows"], "ranges": words["ranges"]}

    @property
    def _lanes(self) -> int:
        across, down = self.image_size.tiles
        return across * down * 64

    def _list(self) -> None:
        """List the pairs by tile, the nearest first."""
        words, (across, down) = self._words, self.image_size.tiles
        bits = 8 * -(-(across * down + 1).bit_length() // 8)
        sizes = {"rows": self.rows, "capacity": self.pairs, "across": across, "tiles": across * down}

        def add(entry: str, threads: int, overwrites: tuple[str, ...], **tensors: Tensor) -> None:
            kernel = Kernel.load(LISTS, entry, {"ENTRY": entry})
            self._launch(kernel, threads, overwrites, tensors, {**sizes, "none": (1 << bits) - 1})

        ops.argsort(words["keys"], out=words["order"])
        touched, starts, total = words["touched"], words["starts"], words["total"]
        add("ordered", self.rows, ("touched",), order=words["order"], counts=words["counts"], touched=touched)
        scan("sum", touched, exclusive=True, out=starts)
        pairs = {"pair_tiles": words["tiles"], "pair_rows": words["pair_rows"]}
        rows = {"order": words["order"], "touched": touched, "starts": starts, "rects": words["rects"]}
        add("pair", self.rows, tuple(pairs), **rows, **pairs)
        written = {"pair_tiles": words["tiles"], "ranges": words["ranges"], "total": total, "draw": words["draw"]}
        threads = max(self.pairs, across * down)
        add("finish", threads, ("ranges", "total", "draw"), touched=touched, starts=starts, **written)
        ops.sort_pairs(words["tiles"], key_bits=bits, out=(words["sorted"], words["numbers"]))
        add("delimit", self.pairs, (), sorted=words["sorted"], total=total, ranges=words["ranges"])

    def _run(self, entry: str, threads: int, overwrites: tuple[str, ...], fields: Any, **tensors: Tensor) -> None:
        self._launch(Kernel.load(TILES, entry), threads, overwrites, tensors, fields)

    def _launch(
        self,
        kernel: Kernel,
        threads: int,
        overwrites: tuple[str, ...],
        tensors: Mapping[str, Tensor],
        fields: Mapping[str, Any],
    ) -> None:
        """Launch a kernel with the tensors and fields that it has."""
        image, (across, _) = self.image_size, self.image_size.tiles
        known = {"rows": self.rows, "capacity": self.pairs, "across": across, "blur": BLUR, "near": image.near}
        known |= {"width": image.columns, "height": image.rows, **fields}
        bound = {binding.name for binding in kernel.bindings}
        own = kernel.interface.uniform.fields if kernel.interface.uniform else {}
        arguments = {name: value for name, value in known.items() if name in own}
        arguments |= {name: tensor for name, tensor in tensors.items() if name in bound}
        kernel(threads, overwrites=overwrites, **arguments)
