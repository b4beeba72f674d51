"""`ShownNetwork`: a network in training as it is tested and drawn, perhaps without some of its units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from ...closing import Closing
from ...gpu import Plan
from ...learn.network import Network
from ...ops.mask import Mask
from ...tensor import f32

PLANS = "evaluate", "newest", "best"  # the network on the test examples, and what is drawn of either weights
Record = Callable[[Mapping[str, Plan], Network], None]


class ShownNetwork(Closing):
    """`network` is the one that is trained, or without units: training itself goes on with all of them.

    `record` records the `PLANS` for a network. Close it.
    """

    def __init__(self, name: str, network: Network, record: Record):
        self._name, self._whole, self._record = name, network, record
        self._parts = ExitStack()
        self._take((), 0)

    def replay(self, plan: str) -> None:
        """Replay one of the `PLANS`."""
        self._plans[plan].replay()

    def ablate(self, units: Mapping[int, Sequence[int]], rows: int) -> bool:
        """Set exactly these units of what layers compute, of batches of `rows`, to zero.

        They must exist. Returns whether `network` is another one.
        """
        other = units.keys() != self._masks.keys()
        if other:
            self._take(tuple(units), rows)
        for number, mask in self._masks.items():
            mask.set(units[number])
        return other

    def close(self) -> None:
        """Give everything back. Idempotent."""
        self._parts.close()

    def _take(self, layers: Sequence[int], rows: int) -> None:
        """Record the network again, with masks after these layers."""
        with ExitStack() as parts:
            masks: dict[int, Mask] = {}
            for number in layers:
                shape = (rows, *self._whole.shape_after(number + 1))
                masks[number] = parts.enter_context(Mask(f"activations.{number}", shape, f32))
            network = replace(self._whole, masks={number: mask.factors for number, mask in masks.items()})
            plans = {what: parts.enter_context(Plan(f"{self._name}.{what}")) for what in PLANS}
            self._record(plans, network)
            self._parts.close()
            self._masks, self.network, self._plans = masks, network, plans
            self._parts = parts.pop_all()
