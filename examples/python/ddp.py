"""Fashion-MNIST with DistributedDataParallel: a script like any other, which knows nothing of Orrery.

    orrery run -n 4 -- python3 -m orrery.ddp examples/python/ddp.py [STEPS]

Without Debian's dataset-fashion-mnist the images are synthetic.
"""

import gzip
import os
import sys
import time
import zlib

import numpy
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

FOLDER = "/usr/share/datasets/fashion-mnist"


def read(name, header):
    with gzip.open(f"{FOLDER}/{name}") as file:
        return torch.from_numpy(numpy.frombuffer(file.read(), numpy.uint8, offset=header).copy())


def load():
    if os.path.isdir(FOLDER):
        return read("train-images-idx3-ubyte.gz", 16).view(-1, 784) / 255, read("train-labels-idx1-ubyte.gz", 8).long()
    images = torch.rand(20_000, 784, generator=torch.Generator().manual_seed(1))
    return images, images[:, :10].argmax(1)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    dist.init_process_group("gloo")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = TensorDataset(*load())
    sampler = DistributedSampler(data, dist.get_world_size(), dist.get_rank(), seed=3)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    layers = [torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 256), torch.nn.ReLU()]
    model = DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step, began = 0, time.monotonic()
    while step < steps:
        sampler.set_epoch(step)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            step += 1
            if step % 10 == 0 or step == steps:
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                print(f"step {step} loss {mean.item() / dist.get_world_size():.6f}", flush=True)
            if step == steps:
                break
    seconds = time.monotonic() - began
    checksum = 0
    for parameter in model.parameters():
        checksum = zlib.crc32(parameter.detach().numpy().tobytes(), checksum)
    print(f"rank {dist.get_rank()} model {checksum:08x} step_ms {1e3 * seconds / steps:.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
