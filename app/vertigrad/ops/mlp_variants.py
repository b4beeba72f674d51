"""What the kernel of small networks is compiled for: the form of a network, and how the work is divided."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import LimitError
from ..gpu import Gpu
from .tuning import WORKGROUP_INVOCATIONS, WORKGROUP_STORAGE, Family

NARROW = 16  # outputs up to which the last layer is computed from the sums of the layer before it


class Form(NamedTuple):
    """Sizes of a network as the kernel has them, padded; the names are those of shaders/ops/mlp.wgsl.

    `real_inputs` are features before padding, `real_outputs` outputs before padding.
    """

    real_inputs: int
    inputs: int
    hidden: int
    width: int
    outputs: int
    last_wide: bool
    real_outputs: int

    @staticmethod
    def of(sizes: list[int]) -> Form:
        """For layers between `sizes`: features, each hidden layer's neurons, outputs."""
        real_inputs, *hidden, outputs = sizes
        wide = outputs > NARROW or not hidden
        width = max([16, *hidden, outputs if wide else 0])
        inputs = _up(real_inputs, 4 if real_inputs <= 16 else 16)
        return Form(real_inputs, inputs, len(hidden), _up(width, 16), _up(outputs, 4), wide, outputs)

    @property
    def layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each layer as it is packed."""
        last = self.width if self.last_wide else self.outputs
        between = [self.width] * self.hidden
        return list(zip([self.inputs, *between], [*between, last], strict=True))

    @property
    def key(self) -> str:
        """The class of sizes that `NETWORKS` has one variant for: neurons, and lines if the features are more."""
        return f"{self.width} {max(self.inputs, self.width)}"

    def defines(self) -> dict[str, Any]:
        """Values for the shader."""
        return {name.upper(): value for name, value in self._asdict().items() if name != "real_outputs"}


class Network(NamedTuple):
    """How the work is divided; the names are those of shaders/ops/mlp.wgsl."""

    points: int
    each_points: int
    each_neurons: int
    stage: int
    lanes: int = 8
    unroll: int = 8  # inputs that are written out one after the other where there are no stages

    def threads(self, width: int) -> int:
        """Invocations of a workgroup."""
        return self.points // self.each_points * (width // self.each_neurons)

    def nbytes(self, width: int, lines: int) -> int:
        """Bytes of workgroup memory at most, for so many neurons and lines of activations."""
        signal = max(lines * (self.points // 4 + 1), width // self.each_neurons * (self.points + 1))
        return (signal + 2 * self.stage * width // 4) * 16

    def fits(self, key: str, gpu: Gpu) -> bool:
        """Whether networks of a class can be divided so, and an adapter has the room."""
        width, lines = (int(part) for part in key.split())
        even = self.stage == 0 or width % (2 * self.stage) == 0
        room, most = gpu.limits[WORKGROUP_STORAGE], gpu.limits[WORKGROUP_INVOCATIONS]
        whole = even and width % self.each_neurons == 0
        return whole and self.nbytes(width, lines) <= room and self.threads(width) <= most

    def defines(self) -> dict[str, Any]:
        """Values for the shader."""
        return {name.upper(): value for name, value in self._asdict().items()}


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


_MEASURED = Network(64, 8, 4, 8)  # the fastest on an H100 for all widths
_SMALLEST = (Network(64, 4, 4, 4), Network(32, 4, 4, 4), Network(16, 4, 4, 0))  # compiled soon; least room last
# llvmpipe loads from memory for each lane by itself: sums in registers, few loads, and a loop that is compiled soon.
_SOFTWARE = (Network(64, 8, 8, 0, unroll=1), Network(32, 8, 8, 0, unroll=1))
_SOFTWARE_WIDE = Network(64, 16, 16, 0, unroll=1)  # half the loads, but three times as long to compile
WIDE = 64  # neurons from which on that is worth it
_OTHERS = (
    *(Network(128, 8, 8, 8), Network(64, 8, 8, 8), Network(64, 4, 8, 8), Network(32, 8, 4, 8), Network(32, 8, 4, 4)),
    *(Network(64, 8, 4, 4), Network(128, 8, 4, 8), Network(128, 8, 4, 4), Network(64, 8, 8, 0)),
)
VARIANTS = {
    "x".join(map(str, variant)): variant for variant in (_MEASURED, *_SMALLEST, *_SOFTWARE, _SOFTWARE_WIDE, *_OTHERS)
}


def _default(key: str, gpu: Gpu) -> Network:
    width, lines = key.split()
    wide = (_SOFTWARE_WIDE,) if int(width) >= WIDE else ()
    measured = (*wide, *_SOFTWARE) if gpu.adapter.kind == "software" else (_MEASURED,)
    for variant in (*measured, *_SMALLEST):
        if variant.fits(key, gpu):
            return variant
    room = gpu.limits[WORKGROUP_STORAGE]
    raise LimitError(
        f"a network {width} neurons wide on {lines} features does not fit into the {room} bytes of workgroup "
        "memory of this adapter; use ops.linear for each layer"
    )


NETWORKS: Family[Network] = Family("mlp", 2, VARIANTS, _default, Network.fits)
