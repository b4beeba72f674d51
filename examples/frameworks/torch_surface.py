"""A network in PyTorch is trained with its own optimizer while its prediction is drawn."""

import numpy as np
import torch

import vertigrad as vg
from vertigrad.models import TorchModel
from vertigrad.params import Params, integer, number

SIDE = 128
SPAN = np.linspace(-2.0, 2.0, SIDE, dtype=np.float32)
PLANE = np.stack(np.meshgrid(SPAN, SPAN), axis=-1).reshape(-1, 2)


def hills(x: torch.Tensor) -> torch.Tensor:
    """The heights (n, 1) to learn, at x (n, 2)."""
    waves = torch.sin(3 * x[:, :1]) * torch.cos(2 * x[:, 1:])
    return waves * torch.exp(-0.4 * (x**2).sum(1, keepdim=True))


class Sines(torch.nn.Module):
    """Two hidden layers with sines for activations [Sitzmann et al. 2020]."""

    def __init__(self, width: int):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(2, width), torch.nn.Linear(width, width)])
        self.last = torch.nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.sin(3.0 * layer(x))
        return self.last(x)


class Fit(TorchModel):
    """The prediction on a grid, and its error."""

    class Params(Params):
        width: int = integer(64, min=4, max=512, rebuild=True, doc="neurons of a hidden layer")
        rate: float = number(2e-3, min=1e-5, max=0.1, scale="log", doc="learning rate")
        batch: int = integer(2048, min=1, max=1 << 16, scale="log", doc="random points of a step")

    tensors = {"position": (SIDE * SIDE, 3), "error": (SIDE * SIDE,), "loss": (1,)}

    def start(self, random):
        self.net = Sines(self.params.width).to(self.device)
        self.optimizer = torch.optim.Adam(self.net.parameters())
        self.grid = torch.from_numpy(PLANE).to(self.device)

    def advance(self, dt):
        if dt:
            x = 4.0 * torch.rand(self.params.batch, 2, device=self.device) - 2.0
            self.optimizer.param_groups[0]["lr"] = self.params.rate
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.net(x), hills(x))
            loss.backward()
            self.optimizer.step()
            self.loss = loss
        with torch.no_grad():
            height = self.net(self.grid)
            self.position = torch.cat([self.grid[:, :1], height, self.grid[:, 1:]], dim=1)
            self.error = (height - hills(self.grid)).abs()[:, 0]


viewer = vg.Viewer("PyTorch learns a surface")
viewer.add_model(Fit)
corner = np.arange(SIDE * (SIDE - 1)).reshape(SIDE - 1, SIDE)[:, :-1].reshape(-1, 1)
triangles = np.concatenate([corner + np.array(each) for each in ([0, SIDE, 1], [1, SIDE, SIDE + 1])])
viewer.surface(
    "surface",
    position="fit.position",
    color="fit.error",
    index=triangles,
    colormap="viridis",
    range=(0.0, 0.3),
    colorbar="error",
)
viewer.camera(position=(2.6, 2.2, 3.4), target=(0, -0.1, 0))
for _ in viewer.frames():
    pass
