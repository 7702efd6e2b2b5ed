"""Model, optimizer and monitor of a training as one array of bytes: what a joining worker gets from the others."""

from __future__ import annotations

import copy
import ctypes
from typing import Any

import numpy
import torch

from orrery.library import Noise


class TrainingState:
    """Its size depends only on model and optimizer, also when the optimizer has made no state of its own yet."""

    def __init__(self, optimizer: torch.optim.Optimizer, tensors: list[torch.Tensor], noise: Noise):
        self._optimizer, self._tensors, self._noise = optimizer, tensors, noise
        self._parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self._template = _states_after_one_step(optimizer)
        self.bytes = numpy.zeros(sum(part.nbytes for part in self._parts()), dtype=numpy.int8)

    def pack(self) -> numpy.ndarray:
        """Writes the present state into the bytes, and returns them."""
        at = 0
        for part in self._parts():
            self.bytes[at : at + part.nbytes] = part.reshape(-1).view(numpy.int8)
            at += part.nbytes
        return self.bytes

    def unpack(self) -> None:
        """Replaces the present state by that in the bytes."""
        at = 0

        def take(like: numpy.ndarray) -> numpy.ndarray:
            nonlocal at
            taken = self.bytes[at : at + like.nbytes].view(like.dtype).reshape(like.shape)
            at += like.nbytes
            return taken

        ctypes.memmove(ctypes.byref(self._noise), take(_of_noise(self._noise)).tobytes(), ctypes.sizeof(Noise))
        rates = take(self._rates())
        for group, rate in zip(self._optimizer.param_groups, rates):
            group["lr"] = float(rate)
        with torch.no_grad():
            for tensor in self._tensors:
                tensor.copy_(torch.from_numpy(take(tensor.detach().numpy()).copy()))
        for parameter, template in zip(self._parameters, self._template):
            exists = bool(take(numpy.zeros(1, numpy.int64))[0])
            state = {}
            for name, value in template.items():
                taken = take(_of_value(value)).copy()
                state[name] = torch.from_numpy(taken) if torch.is_tensor(value) else type(value)(taken[0])
            if exists:
                self._optimizer.state[parameter].update(state)

    def _rates(self) -> numpy.ndarray:
        return numpy.array([float(group["lr"]) for group in self._optimizer.param_groups])

    def _parts(self) -> list[numpy.ndarray]:
        parts = [_of_noise(self._noise), self._rates(), *(tensor.detach().numpy() for tensor in self._tensors)]
        for parameter, template in zip(self._parameters, self._template):
            own = self._optimizer.state.get(parameter, {})
            exists = bool(template) and all(own.get(name) is not None for name in template)
            parts.append(numpy.array([exists], numpy.int64))
            parts += [_of_value(own[name] if exists else value) for name, value in template.items()]
        return parts


def _of_noise(noise: Noise) -> numpy.ndarray:
    return numpy.frombuffer(bytes(noise), dtype=numpy.float64)


def _of_value(value: Any) -> numpy.ndarray:
    return value.detach().numpy() if torch.is_tensor(value) else numpy.array([value], dtype=numpy.float64)


def _states_after_one_step(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    """What the optimizer keeps per parameter, found with a copy of it: tensors and numbers by name."""
    trial = copy.deepcopy(optimizer)
    parameters = [p for group in trial.param_groups for p in group["params"]]
    for parameter in parameters:
        parameter.grad = torch.zeros_like(parameter)
    trial.step()
    kept = (bool, int, float)
    return [
        {
            name: value
            for name, value in sorted(trial.state[parameter].items())
            if torch.is_tensor(value) or isinstance(value, kept)
        }
        for parameter in parameters
    ]
