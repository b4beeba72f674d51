"""`LayerData`: the tensors that a script's layer draws."""

from __future__ import annotations

from ..tensor import Tensor


class LayerData:
    """`tensors` are by attribute; those in `created` were uploaded for this layer, the others are the script's own."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.created: set[str] = set()

    def exchange(self, tensors: dict[str, Tensor], created: set[str]) -> None:
        """Draw these tensors from now on; of those drawn before, give back what was uploaded for this layer."""
        before, uploaded = self.tensors, self.created
        reused = {key for key in uploaded if tensors.get(key) is before[key]}
        self.tensors, self.created = tensors, created | reused
        for key in uploaded - reused:
            before[key].close()

    def close(self) -> None:
        """Give back what was uploaded for this layer."""
        for key in self.created:
            self.tensors[key].close()
        self.created.clear()
