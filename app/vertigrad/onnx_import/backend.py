"""Vertigrad as a backend of ONNX: the interface `onnx.backend`, which ONNX's own tests speak.

The device is the one that Vertigrad opened, whatever the name that is asked for: ONNX knows only "CPU" and "CUDA".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend as Base
from onnx.backend.base import BackendRep, namedtupledict

from ..errors import InputError
from .network import Network
from .values import elem_of


class Prepared(BackendRep):
    """A model that can be run again and again."""

    def __init__(self, network: Network):
        self.network = network

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the graph's order; `inputs` is one array, a list in the graph's order, or named ones."""
        names = list(self.network.inputs)
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        else:
            listed = [inputs] if isinstance(inputs, np.ndarray) else list(inputs)
            if len(listed) > len(names):
                raise InputError(f"{self.network.source}: {len(listed)} inputs given; it takes {len(names)}")
            feeds = dict(zip(names, listed, strict=False))
        results = self.network.run(feeds)
        return namedtupledict("Outputs", self.network.outputs)(*results.values())


class Backend(Base):
    """The functions that `onnx.backend` wants, as ONNX's tests call them."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Check a model. Raises `InputError`; what cannot be run raises `UnsupportedOp` at the first run."""
        return Prepared(Network(model, **kwargs))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model that is needed once."""
        prepared = cls.prepare(model, device, **kwargs)
        try:
            return prepared.run(inputs)
        finally:
            prepared.network.close()

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of one node."""
        super().run_node(node, inputs, device, outputs_info, **kwargs)  # checks it
        names = [name for name in node.input if name]
        feeds = dict(inputs) if isinstance(inputs, Mapping) else dict(zip(names, inputs, strict=True))
        entries = [
            helper.make_tensor_value_info(name, elem_of(np.asarray(array).dtype), np.shape(array))
            for name, array in feeds.items()
        ]
        outputs = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], node.op_type, entries, outputs)
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        onnx.shape_inference.infer_shapes(model)
        return cls.run_model(model, feeds, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether a device of that name can be asked for: there is one, under the name of ONNX's first."""
        return device.split(":")[0] == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
is_compatible = Backend.is_compatible
