"""A member of a training that watches its gradients in every other block of steps. Usage: monitored.py BLOCKS

Rank 0 prints, for each pair of blocks, the seconds of a step without and with watching.
"""

import statistics
import sys
import time

import torch

import orrery
import orrery.torch

BLOCK, BATCH, SAMPLES = 20, 512, 60_000


def main():
    blocks = int(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(torch.randn(SAMPLES, 784), torch.randint(10, (SAMPLES,)))
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 10))
    optimizer = orrery.torch.Optimizer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), samples=SAMPLES, batch=BATCH)
    times, begin = {False: [], True: []}, time.monotonic()

    def after_step():
        nonlocal begin
        now = time.monotonic()
        times[optimizer.watches].append(now - begin)
        if orrery.step() % BLOCK == 0:
            optimizer.watches = not optimizer.watches
            if optimizer.watches is False and orrery.rank() == 0:
                # Both blocks of a pair are done.
                print("pair", statistics.median(times[False]), statistics.median(times[True]), flush=True)
                times[False].clear(), times[True].clear()
        begin = time.monotonic()

    optimizer.watches = False
    orrery.torch.train(model, data, optimizer, steps=2 * BLOCK * blocks, after_step=after_step)


if __name__ == "__main__":
    main()
