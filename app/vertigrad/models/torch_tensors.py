"""`TorchTensors`: a model's tensors and inputs as PyTorch has them, in shared memory or as copies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from ..gpu import gpu
from ..ops import assign
from ..tensor import Tensor
from ..tensor import dtype as dtypes
from ..tensor.frameworks import CPU


class TorchTensors:
    """`views` has a `torch.Tensor` for each of `tensors` and `inputs`.

    Where memory is shared, it is a view: what PyTorch writes is drawn from there. Elsewhere, and for booleans, it is a
    copy on `device`, and `end` uploads those that PyTorch wrote since `begin`. Inputs are other models' tensors: they
    are copied in `begin`, on the GPU where memory is shared. `close` releases the views.

    `targets` has what to write into. With `double_buffered` these are not `views`, where memory is shared: each tensor
    has a second block, which `end` exchanges for its own, so that PyTorch writes one while the other is being drawn.
    `views` must not be written then. A tensor that others have a view of stays where it is.
    """

    def __init__(self, tensors: Mapping[str, Tensor], inputs: Mapping[str, Tensor], name: str, double_buffered: bool):
        self._tensors, self._inputs = dict(tensors), dict(inputs)
        self.device, shares = _device()
        self._staging = {  # of inputs, in shared memory
            key: Tensor.empty(tensor.shape, tensor.dtype, f"{name}.{key} for PyTorch", shared=True)
            for key, tensor in inputs.items()
            if shares and _can_be_shared(tensor)
        }
        for tensor in self._staging.values():
            tensor.fill_(0)
        self._shared = {key: tensor for key, tensor in tensors.items() if shares and _can_be_shared(tensor)}
        self.views: dict[str, torch.Tensor] = {
            key: tensor.torch() for key, tensor in (self._shared | self._staging).items()
        }
        for key, tensor in (self._tensors | self._inputs).items():
            if key not in self.views:
                zeros = torch.from_numpy(np.zeros(tensor.shape, tensor.dtype.numpy))
                self.views[key] = zeros.to(self.device)
        self._back = {
            key: Tensor.empty(tensor.shape, tensor.dtype, f"{name}.{key}, back buffer", shared=True)
            for key, tensor in self._shared.items()
            if double_buffered
        }
        self._back_views = {key: tensor.fill_(0).torch() for key, tensor in self._back.items()}
        for key, tensor in self._back.items():
            gpu().frameworks.take_turns(tensor.block)
            gpu().frameworks.take_turns(self._shared[key].block)
        self.targets = self.views
        self.turn = 0  # which of the two blocks is written: 0 or 1
        self._versions: dict[str, int] = {}  # of what was uploaded last, and of tensors with a back buffer at `end`
        self._stale = True  # whether the tensors were written by others: copies are to be read again

    def refresh(self) -> None:
        """The tensors were written by others, such as a reset: what PyTorch has of them is old."""
        self._stale = True

    def begin(self) -> None:
        """PyTorch's turn: what was recorded so far has finished, and inputs have their values."""
        turns = bool(self._back) and all(map(self._can_exchange, self._back))
        self.targets = self.views | self._back_views if turns else self.views
        front = {key: tensor for key, tensor in self._shared.items() if not turns or self._is_changed(key)}
        blocks = [tensor.block for tensor in (*front.values(), *self._back.values(), *self._staging.values())]
        gpu().frameworks.begin(gpu(), blocks, self._copy_inputs)
        with torch.no_grad():
            for key, tensor in self._inputs.items():
                if key not in self._staging:
                    self.views[key].copy_(torch.from_numpy(tensor.numpy()))
            for key, tensor in self._tensors.items() if self._stale else ():
                if key not in self._shared:
                    self.views[key].copy_(torch.from_numpy(tensor.numpy()))
                    self._versions[key] = self.views[key]._version
        self._stale = False

    def _copy_inputs(self) -> None:
        for key, tensor in self._staging.items():
            assign(tensor, self._inputs[key])

    def _can_exchange(self, key: str) -> bool:
        """Whether nobody else has a view of a tensor's memory."""
        return gpu().frameworks.in_turns(self._shared[key].block)

    def _is_changed(self, key: str) -> bool:
        """Whether kernels or uploads wrote the tensor since `end`."""
        return self._stale or self._versions.get(key) != self._shared[key].owner.version

    def _exchange(self) -> None:
        for key, back in self._back.items():
            gpu().frameworks.exchange(self._shared[key].owner, back.owner)
            self._versions[key] = self._shared[key].owner.version
        self.views, self._back_views = self.targets, {key: self.views[key] for key in self._back}
        self.turn = 1 - self.turn

    def end(self) -> None:
        """PyTorch has queued its work: copies that it wrote are uploaded, graphs of gradients are dropped."""
        if self.targets is not self.views:
            self._exchange()
        for key, tensor in self._tensors.items():
            view = self.views[key].detach_()
            if key not in self._shared and self._versions.get(key) != view._version:
                tensor[...] = view.cpu().numpy()
                self._versions[key] = view._version

    def close(self) -> None:
        """Release the views, and the memory for inputs and back buffers. Idempotent."""
        for views in (self.views, self.targets, self._back_views):
            views.clear()
        for tensors in (self._staging, self._back):
            for tensor in tensors.values():
                tensor.close()
            tensors.clear()


def _can_be_shared(tensor: Tensor) -> bool:
    return tensor.dtype is not dtypes.bool_  # which takes four bytes here, and one in PyTorch


def _device() -> tuple[torch.device, bool]:
    """Where PyTorch computes, and whether memory is shared with it there."""
    frameworks, has_cuda = gpu().frameworks, torch.cuda.is_available()
    if not frameworks.reason:
        kind, number = frameworks.device
        if kind == CPU:
            return torch.device("cpu"), True
        if has_cuda:
            return torch.device("cuda", number), True
    return torch.device("cuda" if has_cuda else "cpu"), False
