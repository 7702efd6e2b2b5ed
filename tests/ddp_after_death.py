"""What torch.distributed gives after the death of a rank. usage: ddp_after_death.py VICTIM

Three ranks; VICTIM kills itself. The others then call every collective and print a line each. Run by python_ddp_test.py,
which knows what each line must be; docs/guide/python.md has the same table.
"""

import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

import orrery.ddp


def show(what, call):
    try:
        result = call()
    except orrery.ddp.RankLost as error:
        result = f"RankLost {error.ranks}"
    except Exception as error:  # noqa: BLE001
        result = f"{type(error).__name__}: {error}"
    print(f"{what}: {result}", flush=True)


def of(values):
    return torch.tensor(values)


def reduced(op, values):
    tensor = of(values)
    dist.all_reduce(tensor, op)
    return tensor.tolist()


def main():
    victim = int(sys.argv[1])
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    survivor = next(one for one in range(size) if one != victim)

    torch.manual_seed(0)
    model = DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False), torch.nn.BatchNorm1d(1)))
    plain = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
    hooked = DistributedDataParallel(torch.nn.Linear(1, 1, bias=False))
    hooked.register_comm_hook(None, default_hooks.allreduce_hook)
    sharded_model = torch.nn.Sequential(*[torch.nn.Linear(2, 2, bias=False) for _ in range(size)])
    sharded = ZeroRedundancyOptimizer(sharded_model.parameters(), torch.optim.SGD, lr=0.1)
    group = dist.new_group()
    assert group is not dist.distributed_c10d._get_default_group()
    if rank == victim:
        os.kill(os.getpid(), signal.SIGKILL)

    def gradient(of_model):
        of_model.zero_grad()
        of_model(of([[float(rank + 1)]])).sum().backward()
        return next(of_model.parameters()).grad.item()

    def buffers():
        batch_norm = model.module[1]
        batch_norm.running_mean.fill_(10.0 + rank)
        batch_norm.eval()  # so that forward changes nothing itself
        model(of([[1.0], [2.0]]))
        return batch_norm.running_mean.item()

    def broadcast(root):
        tensor = of([float(rank)])
        dist.broadcast(tensor, root)
        return tensor.item()

    def reduce(root):
        tensor = of([float(rank)])
        dist.reduce(tensor, root)
        return tensor.item() if rank == root else "done"

    def scatter(root):
        tensor = of([0.0])
        dist.scatter(tensor, [of([10.0 + one]) for one in range(size)] if rank == root else None, root)
        return tensor.item()

    def all_gather():
        parts = [of([-1.0]) for _ in range(size)]
        dist.all_gather(parts, of([float(rank)]))
        return parts

    def gather(root):
        dist.gather(of([float(rank)]), [of([-1.0]) for _ in range(size)] if rank == root else None, root)

    def all_gather_object():
        objects = [None] * size
        dist.all_gather_object(objects, {"rank": rank})
        return objects

    def reduce_scatter():
        output = of([0.0])
        dist.reduce_scatter(output, [of([float(10 * one + rank)]) for one in range(size)])
        return output.item()

    def sharded_step():
        sharded.zero_grad()
        sharded_model(of([[1.0, 2.0]])).sum().backward()
        sharded.step()

    def accuracy():
        counts = of([8, 10])  # correct, of so many
        dist.all_reduce(counts)
        return counts[0].item() / counts[1].item()

    show("gradients of DDP", lambda: gradient(plain))
    show("gradients of DDP with a hook of its own", lambda: gradient(hooked))
    show("buffers of DDP", buffers)
    for kind in ("float", "int"):
        own = [float(rank + 1)] if kind == "float" else [rank + 1]
        for name in ("SUM", "PRODUCT", "MIN", "MAX"):
            show(f"all_reduce {name} {kind}", lambda: reduced(getattr(dist.ReduceOp, name), own))
    show("all_reduce in another group", lambda: (lambda t: (dist.all_reduce(t, group=group), t.item())[1])(of([1.0])))
    show("evaluation", accuracy)
    show("reduce to a survivor", lambda: reduce(survivor))
    show("reduce to the dead", lambda: reduce(victim))
    show("reduce_scatter", reduce_scatter)
    show("broadcast from a survivor", lambda: broadcast(survivor))
    show("broadcast from the dead", lambda: broadcast(victim))
    show("scatter from a survivor", lambda: scatter(survivor))
    show("scatter from the dead", lambda: scatter(victim))
    show("all_gather", all_gather)
    show("gather", lambda: gather(survivor))
    show("all_gather_object", all_gather_object)
    show("ZeroRedundancyOptimizer.step", sharded_step)
    show("barrier", lambda: dist.barrier() or "done")
    show("survivors", orrery.ddp.survivors)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
