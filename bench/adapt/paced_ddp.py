"""PyTorch's DistributedDataParallel over Gloo with processors of its own. Usage: paced_ddp.py RANKS STEPS SECONDS

LeNet, 16 samples per rank and step; forward and backward take SECONDS at least, as if every rank had a processor. Prints the samples
per second of all ranks together.
"""

import os
import socket
import sys
import time

import torch
import torch.distributed
import torch.multiprocessing

MICRO_BATCH, WARM_UP = 16, 6


def lenet():
    layer = torch.nn
    return layer.Sequential(layer.Conv2d(1, 6, 5, padding=2), layer.ReLU(), layer.MaxPool2d(2), layer.Conv2d(6, 16, 5), layer.ReLU(),
                            layer.MaxPool2d(2), layer.Flatten(), layer.Linear(400, 120), layer.ReLU(), layer.Linear(120, 84),
                            layer.ReLU(), layer.Linear(84, 10))


def work(rank, ranks, port, steps, pace):
    torch.set_num_threads(1)
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(rank)
    model = torch.nn.parallel.DistributedDataParallel(lenet())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    images, labels = torch.randn(MICRO_BATCH, 1, 28, 28), torch.randint(10, (MICRO_BATCH,))
    for step in range(WARM_UP + steps):
        if step == WARM_UP:
            torch.distributed.barrier()
            start = time.monotonic()
        begin = time.monotonic()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        time.sleep(max(0, pace - (time.monotonic() - begin)))
        loss.backward()
        optimizer.step()
    if rank == 0:
        print(steps * MICRO_BATCH * ranks / (time.monotonic() - start))
    torch.distributed.destroy_process_group()


def main():
    ranks, steps, pace = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    torch.multiprocessing.spawn(work, (ranks, port, steps, pace), nprocs=ranks)


if __name__ == "__main__":
    main()
