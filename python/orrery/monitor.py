"""Statistics of the gradients and step times of a training, from numbers that its steps exchange anyway."""

from __future__ import annotations

import ctypes
import math

from orrery.library import Library, Noise, NoiseSample, Status

DECAY = 0.99


class Monitor:
    """The same on all workers, except `compute_s`, `wait_s` and `transfer_s`, which are those of this one."""

    def __init__(self, decay: float = DECAY):
        self._library = Library()
        self.noise = Noise(decay, 0, 0, 0)
        self.variance = math.nan  # of the ranks' gradients in the last step, summed over elements
        self.loss = math.nan  # mean over the samples of the last step
        self.compute_s = self.wait_s = self.transfer_s = 0.0  # of the last step
        self.skipped_steps = 0  # because a gradient was not finite

    def add(self, local_square: float, inverse_batch: float, mean_square: float, batch: float) -> bool:
        """Norms of one step, as in orrery_noise_sample. False if they allow no estimate."""
        sample = NoiseSample(local_square, inverse_batch, mean_square, batch)
        return self._library.noise_add(ctypes.byref(self.noise), ctypes.byref(sample)) == Status.OK

    @property
    def noise_scale(self) -> float:
        """NaN while it is not known."""
        return self._library.noise_scale(ctypes.byref(self.noise))

    @property
    def gradient_square(self) -> float:
        return self.noise.gradient_square_sum / self.noise.weight if self.noise.weight > 0 else math.nan

    @property
    def gradient_noise(self) -> float:
        return self.noise.noise_sum / self.noise.weight if self.noise.weight > 0 else math.nan
