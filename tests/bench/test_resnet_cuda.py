"""A whole network, ResNet-18 on one image of 224², against PyTorch on the same GPU, in one run.

Both have their batch norms folded into the convolutions, as in the export to ONNX. PyTorch runs eager and compiled,
with and without a CUDA graph; the fastest is the peer; TF32 and f16 are shown too. Floor on an H200: 3.6 GFLOP
are 0.06 ms, 47 MB of weights 11 µs; with batch 1 most of its layers have too few outputs to fill the GPU. The layers
are those of He et al. 2016, table 1.
"""

from __future__ import annotations

import copy
import importlib
import io
from typing import Any

import onnx
import pytest

from vertigrad.onnx_import import Network

from .accuracy import assert_close_in_norm
from .cuda import PRECISIONS, replay_milliseconds, torch_on_the_same_gpu, torch_variants
from .results import Result, report

WIDTHS = (64, 128, 256, 512)
LEAST = 2.0  # times the fastest f32 of PyTorch


def resnet18(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
            self.shortcut = nn.Identity()
            if inputs != outputs:
                self.shortcut = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x: Any) -> Any:
            y = self.norms[0](self.first(x)).relu()
            return (self.norms[1](self.second(y)) + self.shortcut(x)).relu()

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for index, width in enumerate(WIDTHS):
        before = WIDTHS[max(0, index - 1)]
        layers += [Block(before, width, 1 + (index > 0)), Block(width, width, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).eval()


def with_norms_of_a_trained_network(torch: Any, model: Any) -> Any:
    """Statistics and scales that are not 0 and 1, so that folding them wrongly is detected."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_(0, 0.1)
    return model


@pytest.mark.bench
def test_a_residual_network_is_faster_than_the_best_of_torch_in_f32() -> None:
    torch = torch_on_the_same_gpu()
    torch.manual_seed(1)
    model, image = with_norms_of_a_trained_network(torch, resnet18(torch)), torch.randn(1, 3, 224, 224)
    folded = importlib.import_module("torch.fx.experimental.optimization").fuse(copy.deepcopy(model))
    file = io.BytesIO()
    torch.onnx.export(model, (image,), file, dynamo=False, input_names=["x"], output_names=["y"])
    peers = {}
    with torch.no_grad():
        exact = copy.deepcopy(model).double()(image.double()).numpy()
        for name in PRECISIONS:
            dtype, times = torch.float16 if name == "f16" else torch.float32, []
            for order in (torch.contiguous_format, torch.channels_last):
                module = copy.deepcopy(folded).cuda().to(dtype).to(memory_format=order)
                batch = image.cuda().to(dtype).to(memory_format=order)
                times += torch_variants(torch, name, module, batch).values()
            peers[f"torch {name}"] = min(times)
            if name == "f32":
                assert_close_in_norm(module(batch).cpu().numpy(), exact, 1e-5)
    with Network(onnx.load_from_string(file.getvalue())) as network:
        inputs = {"x": image.numpy()}
        program = network.program(inputs)
        program.set(inputs)
        program.replay()
        found = program.read()["y"]
        mine = replay_milliseconds(program.replay)
    assert_close_in_norm(found, exact, 1e-5)
    report(Result("ResNet-18, one image", "f32, batch norm folded", "ms", mine, peers, "torch f32", LEAST))
