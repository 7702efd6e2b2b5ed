"""A worker of a training that watches its gradients in some blocks of steps. Usage: monitored.py ROUNDS

A round is a block without watching, one with it in every step, and one with it in the first step only, in an order that changes
from round to round. Rank 0 prints for each round the seconds of a step in each of them.
"""

import statistics
import sys
import time

import torch

import orrery
import orrery.torch

BLOCK, BATCH, SAMPLES = 8, 512, 60_000
NEVER, ALWAYS, FIRST = range(3)


def main():
    rounds = int(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = torch.utils.data.TensorDataset(torch.randn(SAMPLES, 784), torch.randint(10, (SAMPLES,)))
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 128), torch.nn.ReLU(),
                                torch.nn.Linear(128, 10))
    optimizer = orrery.torch.Optimizer(torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), samples=SAMPLES, batch=BATCH)
    times, begin = {NEVER: [], ALWAYS: [], FIRST: []}, time.monotonic()

    def kind_of(step):
        block = step // BLOCK
        return (block % 3 + block // 3) % 3

    def after_step():
        nonlocal begin
        now, done = time.monotonic(), orrery.step()
        times[kind_of(done - 1)].append(now - begin)
        if done % (3 * BLOCK) == 0:
            if orrery.rank() == 0:
                # Of eight steps with one that is watched, the median would be one that is not.
                print("round", *(statistics.median(times[kind]) for kind in (NEVER, ALWAYS)), statistics.mean(times[NEVER]),
                      statistics.mean(times[FIRST]), flush=True)
            for kind in times.values():
                kind.clear()
        optimizer.watches = kind_of(done) == ALWAYS or (kind_of(done) == FIRST and done % BLOCK == 0)
        begin = time.monotonic()

    optimizer.watches = False
    orrery.torch.train(model, data, optimizer, steps=3 * BLOCK * rounds, after_step=after_step)


if __name__ == "__main__":
    main()
