"""A module and a function for `torch.toml`."""

import torch

from vertigrad.params import number


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x, offset, time, gain: float = number(1.0, min=0.0, max=4.0)):
        y = gain * self.layer(x) + offset + time
        return y, y.norm(dim=1)


def drift(position, dt, speed: float = 1.0):
    return position + speed * dt


def moved(position):
    return position * 2.0
