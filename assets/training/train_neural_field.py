"""Train the network of the `neural_field` model: the relief around the Jacksboro fault, split into bands.

    python assets/training/train_neural_field.py [--seed 7] [--steps-scale 1.0] [--data FILE] [--out FILE]

Needs only NumPy and safetensors. Reads `assets/data/jacksboro_fault_dem.npz`, prints the loss, writes
`assets/weights/neural_field.safetensors`; about 80 seconds on one free core. The same seed gives the same
weights on the same machine with the same NumPy; elsewhere sums are rounded in another order.

What is learned. The elevation z [m] becomes the relief H = (z − mean) / (max − min), over (u, v) in [−1, 1]²:
u runs from west to east, v from north to south, and the outermost samples lie at ±1. Three sine networks
share it, as in a Laplacian pyramid: the coarse one learns H blurred over 1400 m, the middle one what is
missing from H blurred over 300 m, the fine one all the rest. Each is trained on what the networks before it
left over, so the sum of the three is H, and a viewer may blend them.

Each network is (u, v) → 64 → 64 → 64 → 1 with sine activations (Sitzmann et al. 2020, "Implicit Neural
Representations with Periodic Activation Functions", section 3.2 for the initial weights). Their factor ω₀ is
folded into the stored weights: a layer is sin(W x + b). In return the learning rate of a layer is multiplied
by its ω₀, which with Adam amounts to the same training. A band's `first_omega` sets the finest detail it
starts from.

The file. float32 tensors `band{k}.layer{i}.weight` (out, in) and `band{k}.layer{i}.bias` (out,); the last
layer is linear. Metadata, all of it text:

    format, version         "vertigrad.neural_field", "1"
    activation              "sine"; a file of other origin may say "relu"
    bands, layers, width    3, 4, 64: networks, linear maps in each, neurons in each hidden layer
    band_names              separated by commas, as is
    sway                    how far, in radians, the first layer of each band moves per unit of the model's
                            `amplitude`: chosen so that a small amplitude is the share of its own relief by
                            which each band changes, root mean square over the square and the cycle
    metres_per_unit, mean_m z = mean_m + metres_per_unit · H
    side_east_m, side_south_m   lengths of the square's sides on the ground
    rmse_units, seed, source    how well it was learned, and from what
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

if __name__ == "__main__":  # before NumPy is loaded: one thread always sums in the same order, and waits for none
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from safetensors.numpy import save

ASSETS = Path(__file__).resolve().parent.parent
WIDTH = 64
LAYERS = 4
BATCH = 4096
LEARNING_RATE = 1e-3
HIDDEN_OMEGA = 30.0
WARM_UP = 200

Layer = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Band:
    """One network: the blur that bounds its share from below [m] (0: all that is left), and its training."""

    name: str
    sigma_m: float
    first_omega: float
    steps: int


BANDS = (
    Band("coarse", 1400.0, 10.0, 3000),
    Band("middle", 300.0, 30.0, 5000),
    Band("fine", 0.0, 45.0, 15000),
)


@dataclass(frozen=True)
class Relief:
    """The elevation data: `height` H (rows, columns), north and west first, and what it was made from."""

    height: np.ndarray
    metres_per_unit: float
    mean_m: float
    cell_south_m: float
    cell_east_m: float

    @classmethod
    def read(cls, path: Path) -> Relief:
        """From the file described in assets/LICENSES.md."""
        with np.load(path) as data:
            z = data["elevation_m"].astype(np.float64)
            cells = float(data["cell_south_m"]), float(data["cell_east_m"])
        relief, mean = float(np.ptp(z)), float(z.mean())
        return cls((z - mean) / relief, relief, mean, *cells)

    def blurred(self, sigma_m: float) -> np.ndarray:
        """`height` under a Gaussian of that standard deviation on the ground, mirrored at the borders."""
        if sigma_m == 0:
            return self.height
        rows, columns = self.height.shape
        south = _blur_matrix(rows, sigma_m / self.cell_south_m)
        east = _blur_matrix(columns, sigma_m / self.cell_east_m)
        return south @ self.height @ east.T

    def coordinates(self) -> np.ndarray:
        """(u, v) of every sample, row by row, float32, shape (rows · columns, 2)."""
        rows, columns = self.height.shape
        v, u = np.meshgrid(np.linspace(-1, 1, rows), np.linspace(-1, 1, columns), indexing="ij")
        return np.stack([u.ravel(), v.ravel()], axis=1).astype(np.float32)


def _blur_matrix(n: int, sigma: float) -> np.ndarray:
    """The (n, n) matrix that blurs n samples; what falls over an end is mirrored back in."""
    reach = int(4 * sigma + 0.5)
    offsets = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * (offsets / sigma) ** 2)
    matrix = np.zeros((n, n))
    source = (np.arange(n)[:, None] + offsets) % (2 * n)
    source = np.where(source >= n, 2 * n - 1 - source, source)
    np.add.at(matrix, (np.arange(n)[:, None], source), kernel / kernel.sum())
    return matrix


def initial_layers(rng: np.random.Generator, first_omega: float) -> list[Layer]:
    """Weights before training, with ω₀ folded in: the spread of every layer's argument stays near one."""
    spread = np.sqrt(6 / WIDTH)
    layers = [(rng.uniform(-0.5, 0.5, (WIDTH, 2)) * first_omega, rng.uniform(-np.pi, np.pi, WIDTH))]
    for _ in range(LAYERS - 2):
        layers.append((rng.uniform(-spread, spread, (WIDTH, WIDTH)), rng.uniform(-0.1, 0.1, WIDTH)))
    layers.append((rng.uniform(-spread, spread, (1, WIDTH)) / HIDDEN_OMEGA, np.zeros(1)))
    return [(weight.astype(np.float32), bias.astype(np.float32)) for weight, bias in layers]


class Network:
    """Layers with the buffers that one step of training fills, so that no step allocates."""

    def __init__(self, layers: list[Layer], batch: int):
        self.layers = layers
        self.gradients = [(np.empty_like(weight), np.empty_like(bias)) for weight, bias in layers]
        self._hidden = [np.empty((batch, WIDTH), np.float32) for _ in layers[:-1]]
        self._slope = [np.empty((batch, WIDTH), np.float32) for _ in layers[:-1]]

    def step(self, uv: np.ndarray, target: np.ndarray) -> float:
        """Mean square error of a batch; leaves its gradients in `gradients`."""
        signal = uv
        for (weight, bias), hidden, slope in zip(self.layers, self._hidden, self._slope, strict=False):
            np.matmul(signal, weight.T, out=hidden)
            np.add(hidden, bias, out=hidden)
            np.cos(hidden, out=slope)
            signal = np.sin(hidden, out=hidden)
        weight, bias = self.layers[-1]
        error = signal @ weight.T + bias - target
        self._backward(uv, error * np.float32(2 / len(uv)))
        return float(np.mean(error * error))

    def _backward(self, uv: np.ndarray, upstream: np.ndarray) -> None:
        for index in range(LAYERS - 1, -1, -1):
            signal = self._hidden[index - 1] if index else uv
            np.matmul(upstream.T, signal, out=self.gradients[index][0])
            upstream.sum(axis=0, out=self.gradients[index][1])
            if index:
                # The layer's input is not needed any more: its buffer takes the gradient by it.
                upstream = np.matmul(upstream, self.layers[index][0], out=signal)
                upstream *= self._slope[index - 1]


class Adam:
    """Adam (Kingma & Ba 2015) with a rate per layer, a warm-up, and a cosine down to 1 % of the rate."""

    def __init__(self, layers: list[Layer], rates: list[float], steps: int):
        self._parameters = [parameter for layer in layers for parameter in layer]
        self._rates = [rate for rate in rates for _ in range(2)]
        self._first = [np.zeros_like(parameter) for parameter in self._parameters]
        self._second = [np.zeros_like(parameter) for parameter in self._parameters]
        self._steps, self._taken = steps, 0

    def step(self, gradients: list[Layer], decay: tuple[float, float] = (0.9, 0.99)) -> None:
        """Change the parameters in place."""
        self._taken += 1
        cosine = 0.5 + 0.5 * np.cos(np.pi * self._taken / self._steps)
        rate = min(1.0, self._taken / WARM_UP) * (0.01 + 0.99 * cosine)
        rate /= 1 - decay[0] ** self._taken
        flat = [gradient for layer in gradients for gradient in layer]
        for at, gradient in enumerate(flat):
            self._first[at] += (1 - decay[0]) * (gradient - self._first[at])
            self._second[at] += (1 - decay[1]) * (gradient * gradient - self._second[at])
            size = np.sqrt(self._second[at] / (1 - decay[1] ** self._taken)) + 1e-8
            self._parameters[at] -= self._rates[at] * rate * self._first[at] / size


def train(uv: np.ndarray, target: np.ndarray, band: Band, rng: np.random.Generator) -> list[Layer]:
    """Layers whose output is close to `target` (n,) at `uv` (n, 2)."""
    scale = np.float32(target.std())
    wanted = (target[:, None] / scale).astype(np.float32)
    layers = initial_layers(rng, band.first_omega)
    batch = min(BATCH, len(uv))
    network = Network(layers, batch)
    rates = [LEARNING_RATE * omega for omega in (band.first_omega, HIDDEN_OMEGA, HIDDEN_OMEGA, 1.0)]
    adam = Adam(layers, rates, band.steps)
    started, running = time.perf_counter(), 0.0
    for step, rows in zip(range(1, band.steps + 1), _batches(len(uv), batch, rng), strict=False):
        running += (network.step(uv[rows], wanted[rows]) - running) / min(step, 100)
        adam.step(network.gradients)
        if step % max(1, band.steps // 5) == 0:
            spent = time.perf_counter() - started
            print(f"{band.name:7} step {step:6}  loss {running:.6f}  {spent:6.1f} s", flush=True)
    weight, bias = layers[-1]
    layers[-1] = (weight * scale, bias * scale)
    return layers


def _batches(count: int, batch: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Endless batches of row numbers, each epoch in a new order; a last part that is too short is dropped."""
    while True:
        order = rng.permutation(count)
        for start in range(0, count - batch + 1, batch):
            yield order[start : start + batch]


def predict(layers: list[Layer], uv: np.ndarray) -> np.ndarray:
    """Output (n,) of the network at `uv` (n, 2)."""
    parts = []
    for start in range(0, len(uv), BATCH):
        signal = uv[start : start + BATCH]
        for weight, bias in layers[:-1]:
            signal = np.sin(signal @ weight.T + bias)
        weight, bias = layers[-1]
        parts.append((signal @ weight.T + bias)[:, 0])
    return np.concatenate(parts)


def root_mean_square(values: np.ndarray) -> float:
    """Of all values, in float64."""
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def sway(layers: list[Layer], uv: np.ndarray, index: int) -> float:
    """How far to move the first layer of band `index` [rad] per unit of amplitude (see the file's metadata).

    Moved as the model moves it, by sin(cycle + φ_j), φ_j on the golden-ratio sequence; for small moves two
    places a quarter of the cycle apart give the mean over all of it.
    """
    phases = 2 * np.pi * (((index * WIDTH + np.arange(WIDTH)) * 0.61803398875) % 1.0)
    small = 0.01
    still = predict(layers, uv)
    weight, bias = layers[0]
    changes = []
    for cycle in (0.0, np.pi / 2):
        moved = (bias + small * np.sin(cycle + phases)).astype(np.float32)
        changes.append(predict([(weight, moved), *layers[1:]], uv) - still)
    return float(still.std()) * small / root_mean_square(np.stack(changes))


@dataclass(frozen=True)
class Trained:
    """All bands, their sways, and the root mean square error of their sum against the data, in units of H."""

    bands: list[list[Layer]]
    sways: list[float]
    rmse: float

    def tensors(self) -> dict[str, np.ndarray]:
        """By the names they have in the file."""
        named = {}
        for band, layers in enumerate(self.bands):
            for index, (weight, bias) in enumerate(layers):
                named[f"band{band}.layer{index}.weight"] = np.ascontiguousarray(weight)
                named[f"band{band}.layer{index}.bias"] = np.ascontiguousarray(bias)
        return named


def train_bands(relief: Relief, bands: tuple[Band, ...], seed: int) -> Trained:
    """One network after the other, each on what those before it left over."""
    uv = relief.coordinates()
    reached = np.zeros(len(uv))
    networks, sways = [], []
    for index, band in enumerate(bands):
        target = relief.blurred(band.sigma_m).ravel() - reached
        layers = train(uv, target, band, np.random.default_rng([seed, index]))
        output = predict(layers, uv)
        reached += output
        networks.append(layers)
        sways.append(sway(layers, uv[:: max(1, len(uv) // 30000)], index))
        share, error = 100 * target.std(), 100 * root_mean_square(target - output)
        print(f"{band.name:7} {share:.3f} % of the relief, learned to within {error:.3f} %", flush=True)
    return Trained(networks, sways, root_mean_square(relief.height.ravel() - reached))


def metadata(relief: Relief, bands: tuple[Band, ...], seed: int, trained: Trained) -> dict[str, str]:
    """What the file says about itself."""
    rows, columns = relief.height.shape
    return {
        "format": "vertigrad.neural_field",
        "version": "1",
        "activation": "sine",
        "bands": str(len(bands)),
        "layers": str(LAYERS),
        "width": str(WIDTH),
        "band_names": ",".join(band.name for band in bands),
        "sway": ",".join(f"{value:.4f}" for value in trained.sways),
        "metres_per_unit": repr(relief.metres_per_unit),
        "mean_m": repr(relief.mean_m),
        "side_east_m": repr(round((columns - 1) * relief.cell_east_m, 1)),
        "side_south_m": repr(round((rows - 1) * relief.cell_south_m, 1)),
        "rmse_units": f"{trained.rmse:.6f}",
        "seed": str(seed),
        "source": "assets/data/jacksboro_fault_dem.npz (SRTM, public domain; see assets/LICENSES.md)",
    }


def main(arguments: list[str] | None = None) -> None:
    """Train and write the file."""
    parser = argparse.ArgumentParser(description="Train the network of the neural_field model.")
    parser.add_argument("--data", type=Path, default=ASSETS / "data" / "jacksboro_fault_dem.npz")
    parser.add_argument("--out", type=Path, default=ASSETS / "weights" / "neural_field.safetensors")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--steps-scale", type=float, default=1.0, help="0.1: a tenth of the steps")
    chosen = parser.parse_args(arguments)
    relief = Relief.read(chosen.data)
    bands = tuple(replace(band, steps=max(1, round(band.steps * chosen.steps_scale))) for band in BANDS)
    trained = train_bands(relief, bands, chosen.seed)
    # Written here and not by save_file, which would let nobody else read the file.
    chosen.out.write_bytes(save(trained.tensors(), metadata(relief, bands, chosen.seed, trained)))
    percent, metres = 100 * trained.rmse, trained.rmse * relief.metres_per_unit
    print(f"all bands: error {percent:.3f} % of the relief, {metres:.1f} m; wrote {chosen.out}")


if __name__ == "__main__":
    main()
