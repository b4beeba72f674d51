"""A whole network, ResNet-18 on one picture of 224², against PyTorch in eager mode on the same GPU, in one run.

Floor on an H100: 3.6 GFLOP are 0.06 ms, 47 MB of weights 16 µs; with batch 1 most of its layers have too few outputs to
fill the GPU. The make-up is that of He et al. 2016, table 1.
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import onnx
import pytest

from vertigrad.onnx_import import Network

from .cuda import replay_milliseconds, torch_milliseconds, torch_on_the_same_gpu

WIDTHS = (64, 128, 256, 512)


def resnet18(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
            self.norms = nn.ModuleList([nn.BatchNorm2d(outputs), nn.BatchNorm2d(outputs)])
            self.across = nn.Identity()
            if inputs != outputs:
                self.across = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

        def forward(self, x: Any) -> Any:
            y = self.norms[0](self.first(x)).relu()
            return (self.norms[1](self.second(y)) + self.across(x)).relu()

    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for index, width in enumerate(WIDTHS):
        before = WIDTHS[max(0, index - 1)]
        layers += [Block(before, width, 1 + (index > 0)), Block(width, width, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)).eval()


@pytest.mark.bench
def test_a_residual_network_is_no_slower_than_eager_torch() -> None:
    torch = torch_on_the_same_gpu()
    torch.backends.cudnn.allow_tf32, torch.backends.cudnn.benchmark = False, True
    torch.manual_seed(1)
    model, picture = resnet18(torch), torch.randn(1, 3, 224, 224)
    file = io.BytesIO()
    torch.onnx.export(model, (picture,), file, dynamo=False, input_names=["x"], output_names=["y"])
    with torch.no_grad(), Network(onnx.load_from_string(file.getvalue())) as network:
        wanted = model.double()(picture.double()).numpy()
        cuda, given = model.float().cuda(), picture.cuda()
        theirs = torch_milliseconds(torch, lambda: cuda(given))
        inputs = {"x": picture.numpy()}
        program = network.program(inputs)
        program.set(inputs)
        program.replay()
        got = program.read()["y"]
        mine = replay_milliseconds(program.replay)
        for time in sorted(program.profile() or [], key=lambda each: -each.ms)[:8]:
            print(f"\n  {time.ms:.4f} ms in {time.dispatches} dispatches: {time.node}", end="")
    print(f"\nResNet-18, one picture: torch eager f32 {theirs:.3f} ms, ours {mine:.3f} ms, {theirs / mine:.2f}x")
    assert np.abs(got - wanted).max() <= 1e-4 * np.abs(wanted).max()
    assert mine <= theirs
