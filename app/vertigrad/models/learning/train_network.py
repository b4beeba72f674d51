"""From a scene's tables to layers, a loss, an optimizer and its schedule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ... import learn
from ...learn.hash_grid import HashGrid
from ...learn.layers import Activation, Conv, Flatten, Layer, Linear, Pool, fourier_features, positional_encoding
from ...learn.network import Network
from ...tensor import Tensor
from .train_data import Kind
from .train_tables import Classes, Loss, Optimizer, Schedule, Tables
from .train_tables import Network as Table

PLANE = 2  # numbers by which examples of classes are drawn


def network_of(tables: Tables, kind: Kind, random: np.random.Generator) -> tuple[Network, int]:
    """The network, and how many of its layers lead to the plane in which classes are drawn (0: no such plane).

    Raises `ShapeError` if examples are too small for the convolutions.
    """
    table = tables.network
    if not isinstance(tables.data, Classes):
        layers, size = _encoding_layers(table, kind.input_shape[0], random)
        return Network([*layers, *_dense(table, size, table.depth, kind.outputs)], kind.input_shape), 0
    front, size = _front_layers(table, kind.input_shape)
    front += _dense(table, size, table.depth, PLANE)
    return Network([*front, *_dense(table, PLANE, table.head, kind.outputs)], _input_shape(table, kind)), len(front)


def prepared(tables: Tables, inputs: np.ndarray) -> np.ndarray:
    """Examples as the network takes them: images of one channel get an axis for it."""
    return inputs[:, None] if tables.network.kind == "conv" and inputs.ndim == 3 else inputs


def loss_of(table: Loss) -> Callable[[Tensor, Tensor], Tensor]:
    """The loss as a function of predictions and targets."""
    match table.kind:
        case "cross_entropy":
            return learn.cross_entropy
        case "l1":
            return learn.l1_loss
        case "l2":
            return learn.l2_loss
    return lambda result, target: learn.huber_loss(result, target, table.delta)


def loss_gradient(table: Loss, result: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The reference: the gradient of the loss by the results (n, outputs), float64."""
    if table.kind == "cross_entropy":
        probabilities = np.exp(result - result.max(1, keepdims=True))
        probabilities /= probabilities.sum(1, keepdims=True)
        probabilities[np.arange(len(target)), target] -= 1.0
        return probabilities / len(target)
    away = result - target
    gradients = {"l1": np.sign(away), "l2": 2.0 * away, "huber": np.clip(away, -table.delta, table.delta)}
    return gradients[table.kind] / away.size


def optimizer_of(table: Optimizer, schedule: Schedule, weights: Sequence[Tensor], momentum: float) -> learn.Optimizer:
    """The optimizer of these weights; its rate and decay are set before each step."""
    clip, factor = table.clip or None, schedule_of(schedule)
    if table.kind == "sgd":
        return learn.Sgd(weights, momentum=momentum, nesterov=table.nesterov, clip=clip, schedule=factor)
    betas, decoupled = (table.beta1, table.beta2), table.kind == "adam_w"
    return learn.Adam(weights, betas=betas, decoupled=decoupled, clip=clip, schedule=factor)


def schedule_of(table: Schedule) -> Callable[[int], float]:
    """The factor of the rate at each step."""
    schedules = {
        "constant": learn.constant,
        "cosine": lambda: learn.cosine(table.steps, table.last),
        "exponential": lambda: learn.exponential(table.steps),
    }
    schedule = schedules[table.kind]()
    return learn.warm_up(table.warm_up, schedule) if table.warm_up else schedule


def _encoding_layers(table: Table, dimensions: int, random: np.random.Generator) -> tuple[list[Layer], int]:
    if table.encoding == "none":
        return [], dimensions
    if table.encoding == "waves":
        return fourier_features(random, dimensions, table.frequencies, table.sharpness), 2 * table.frequencies
    if table.encoding == "hash":
        grid = HashGrid(dimensions, table.levels, table.entries, table.features, table.coarsest, table.finest)
        return [grid], table.levels * table.features
    return positional_encoding(dimensions, table.frequencies), 2 * dimensions * table.frequencies


def _front_layers(table: Table, input_shape: tuple[int, ...]) -> tuple[list[Layer], int]:
    if table.kind == "mlp":
        return ([Flatten()] if len(input_shape) > 1 else []), int(np.prod(input_shape))
    shape = input_shape if len(input_shape) == 3 else (1, *input_shape)
    layers: list[Layer] = []
    channels = shape[0]
    for number in range(table.convolutions):
        width = table.channels << number
        layers += [Conv(channels, width), Activation(table.activation), Pool()]
        channels = width
    layers.append(Flatten())
    return layers, Network(layers, shape).shape_after(len(layers))[0]


def _input_shape(table: Table, kind: Kind) -> tuple[int, ...]:
    return (1, *kind.input_shape) if table.kind == "conv" and len(kind.input_shape) == 2 else kind.input_shape


def _dense(table: Table, inputs: int, depth: int, outputs: int) -> list[Layer]:
    """So many hidden layers and a last one, which is linear."""
    layers: list[Layer] = []
    for _ in range(depth):
        layers += [Linear(inputs, table.width), Activation(table.activation)]
        inputs = table.width
    return [*layers, Linear(inputs, outputs, gain=1.0)]
