"""Every operation of torch.distributed that both backends have, on tensors that follow from the rank. Prints the results.

The same lines over Gloo and over Orrery. Run by python_ddp_test.py.
"""

import torch
import torch.distributed as dist

KINDS = [torch.float32, torch.float64, torch.float16, torch.int8, torch.int32, torch.int64, torch.uint8]


def show(what, *tensors):
    values = " | ".join(" ".join(str(value) for value in tensor.reshape(-1).tolist()) for tensor in tensors)
    print(f"{what}: {values}", flush=True)


def main():
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    print(f"rank {rank} of {size}")
    for kind in KINDS:
        own = (torch.arange(5) + rank + 1).to(kind)
        for name in ("SUM", "PRODUCT", "MIN", "MAX"):
            tensor = own.clone()
            dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
            show(f"all_reduce {kind} {name}", tensor)
        tensor = own.clone()
        dist.broadcast(tensor, size - 1)
        show(f"broadcast {kind}", tensor)
        parts = [torch.zeros_like(own) for _ in range(size)]
        dist.all_gather(parts, own)
        show(f"all_gather {kind}", *parts)
    wide = torch.arange(12.0).view(3, 4).t()  # not contiguous
    dist.all_reduce(wide)
    show("all_reduce of columns", wide)
    large = torch.full((300_000,), float(rank + 1))
    work = dist.all_reduce(large, async_op=True)
    work.wait()
    show("all_reduce, large", large[::100_000], large.sum())
    empty = torch.zeros(0)
    dist.all_reduce(empty)
    tensor = torch.full((3,), float(rank))
    dist.reduce(tensor, 1)
    if rank == 1:
        show("reduce", tensor)
    parts = [torch.zeros(2) for _ in range(size)] if rank == 0 else None
    dist.gather(torch.full((2,), float(rank)), parts, 0)
    if rank == 0:
        show("gather", *parts)
    tensor = torch.zeros(2)
    dist.scatter(tensor, [torch.full((2,), 10.0 + i) for i in range(size)] if rank == 1 else None, 1)
    show("scatter", tensor)
    objects = [None] * size
    dist.all_gather_object(objects, {"rank": rank})
    print("objects", objects)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
