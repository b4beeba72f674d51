"""Models of torch_currents.toml: points drift in a field that a random network computes."""

import torch

from vertigrad.params import number


class Currents(torch.nn.Module):
    """One step of points (n, 3) in a smooth, divergence-free velocity: the curl of a random potential."""

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(7)
        self.register_buffer("frequency", 1.6 * torch.randn(24, 3, generator=generator))
        self.register_buffer("phase", 6.3 * torch.rand(24, generator=generator))
        self.register_buffer("weight", torch.randn(24, 3, generator=generator) / 24**0.5)

    def forward(
        self,
        position: torch.Tensor,
        strength: torch.Tensor,
        step: torch.Tensor,
        pull: float = number(1.2, min=0.0, max=4.0, doc="towards a sphere of radius 1"),
    ):
        slope = torch.cos(position @ self.frequency.T + self.phase)  # of the potential's sines
        velocity = strength * torch.einsum("nk,kc->nc", slope, torch.linalg.cross(self.frequency, self.weight))
        radius = position.norm(dim=1, keepdim=True)
        velocity = velocity - pull * (radius - 1.0) * position / radius.clamp(min=1e-3)
        return {"position": position + step * velocity, "speed": velocity.norm(dim=1)}
