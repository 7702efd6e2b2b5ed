"""The speed_probe of bench_elastic_resize: the same training under torchrun. Usage: torchrun_worker.py FILE

Sums up 1 MB of gradients over all ranks with Gloo again and again. Rank 0 keeps the model in FILE.model and writes into FILE
when its last step ended, on the machine's monotonic clock, and how many ranks took part.
"""

import os
import sys
import time

import torch
import torch.distributed

PARAMETERS = 250_000


def main():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    path = sys.argv[1]
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    model = torch.zeros(PARAMETERS)
    if os.path.exists(path + ".model"):
        model = torch.load(path + ".model")
    elif rank == 0:
        torch.save(model, path + ".model.new")
        os.replace(path + ".model.new", path + ".model")
    gradients = torch.ones(PARAMETERS)
    while True:
        torch.distributed.all_reduce(gradients)
        gradients /= ranks
        model -= gradients
        if rank == 0:
            with open(path + ".new", "w") as file:
                file.write(f"{ranks} {time.clock_gettime(time.CLOCK_MONOTONIC):.6f}\n")
            os.replace(path + ".new", path)


main()
