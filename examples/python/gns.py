"""Fashion-MNIST, with a policy that adds workers as the noise of the gradients grows.

    orrery run -n 2 --elastic 1:4 --standby 1 -- python3 examples/python/gns.py [STEPS]

The policy is the one of the KungFu talk. Needs the Debian packages python3-torch and dataset-fashion-mnist.
"""

import gzip
import sys
import zlib

import numpy
import torch

import orrery
import orrery.torch

FOLDER = "/usr/share/datasets/fashion-mnist"


class GNSPolicy(orrery.Policy):
    """One worker more whenever the noise scale has doubled."""

    def __init__(self, first):
        self.first = first

    def after_step(self):
        gns = orrery.grad_noise_scale()
        avg = orrery.allreduce(gns, "avg")
        prev = orrery.parameter("prev", self.first)  # of the job: workers that join know it, too
        if orrery.step() % 20 == 0 and avg > prev:
            orrery.resize(orrery.size() + 1)
            orrery.set_parameter("prev", 2 * avg)


class FashionMnist(torch.utils.data.Dataset):
    def __init__(self):
        self.images = self.read("train-images-idx3-ubyte.gz", 16).reshape(-1, 784)
        self.labels = self.read("train-labels-idx1-ubyte.gz", 8).astype(numpy.int64)

    @staticmethod
    def read(name, header):
        with gzip.open(f"{FOLDER}/{name}") as file:
            return numpy.frombuffer(file.read(), numpy.uint8, offset=header)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, sample):
        return torch.from_numpy(self.images[sample] / numpy.float32(255)), self.labels[sample]


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = FashionMnist()
    model = torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    opt = orrery.torch.Optimizer(opt, samples=len(data), batch=64)
    hook = orrery.Hook(GNSPolicy(first=10))

    def report():
        if orrery.rank() == 0:
            loss, noise = opt.monitor.loss, orrery.grad_noise_scale()
            print(f"step {orrery.step()} workers {orrery.size()} loss {loss:.4f} noise {noise:.1f}", flush=True)

    orrery.torch.train(model, data, opt, hook, steps=steps, after_step=report)
    checksum = 0
    for parameter in model.parameters():
        checksum = zlib.crc32(parameter.detach().numpy().tobytes(), checksum)
    print(f"model {checksum:08x} after step {orrery.step()}")


if __name__ == "__main__":
    main()
