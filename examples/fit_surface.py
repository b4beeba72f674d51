"""A small network is trained to fit a landscape. Its prediction is drawn from the tensor it was computed in."""

import numpy as np

import vertigrad as vg
from vertigrad import Tensor, learn, ops

SIZE, WIDTH = 96, 48
random = np.random.default_rng(0)
x, z = np.meshgrid(np.linspace(-1, 1, SIZE, dtype=np.float32), np.linspace(-1, 1, SIZE, dtype=np.float32))
height = 0.3 * np.sin(4 * x) * np.cos(3 * z) + 0.3 * np.exp(-6 * (x**2 + z**2))


def layer(inputs: int, outputs: int) -> tuple[Tensor, Tensor]:
    """Weights and biases of a layer (He initialization)."""
    weight = random.normal(0, np.sqrt(2 / inputs), (inputs, outputs)).astype(np.float32)
    return Tensor.from_numpy(weight, "weight").requires_grad_(), Tensor.zeros(outputs, name="bias").requires_grad_()


layers = [layer(4, WIDTH), layer(WIDTH, WIDTH), layer(WIDTH, 1)]
points = np.stack([x, z, np.sin(4 * x), np.cos(4 * z)], axis=-1).reshape(-1, 4)
inputs, target = Tensor.from_numpy(points), Tensor.from_numpy(height.reshape(-1, 1))
optimizer = learn.Adam([tensor for pair in layers for tensor in pair], lr=1e-2)


def network(values: Tensor) -> Tensor:
    """Heights (n, 1) from inputs (n, 4)."""
    for weight, bias in layers[:-1]:
        values = ops.tanh(values @ weight + bias)
    weight, bias = layers[-1]
    return values @ weight + bias


viewer = vg.Viewer("Learning a landscape")
surface = viewer.surface("prediction", position=np.stack([x, 0 * x, z], axis=-1), color=(0.85, 0.5, 0.25))
viewer.marks("target", position=np.stack([x, height, z], axis=-1).reshape(-1, 3), size=0.004, color="#bbbbbb")
rate = viewer.slider("lr", 0.01, min=1e-4, max=0.1, scale="log", doc="learning rate")
losses = viewer.plot("loss", x_unit="steps", log=True)
viewer.camera(position=(1.4, 1.5, 2.2))

for step in viewer.frames():
    if step.dt == 0.0:
        continue
    optimizer.lr = rate.value
    for _ in range(4):
        loss = ops.mean(ops.square(network(inputs) - target))
        loss.backward()
        optimizer.step()
    with vg.no_grad():
        surface.position[:, :, 1] = network(inputs).reshape(SIZE, SIZE)
    if step.number % 10 == 0:
        losses.append(loss, x=4 * step.number)
