"""A script of torch.distributed over Gloo: its ranks as plain processes, for comparison."""

import os
import socket
import subprocess
import sys


def start_gloo(ranks, *words):
    """Starts `python3 WORDS…` once for every rank."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(ranks):
        place = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        environment = {**os.environ, **{name: str(value) for name, value in place.items()}}
        command = [sys.executable, *map(str, words)]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                          text=True))
    return processes


def run_gloo(ranks, *words, timeout=600):
    """What each rank printed. An error if one fails."""
    processes = start_gloo(ranks, *words)
    try:
        outputs = [process.communicate(timeout=timeout)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, output in zip(processes, outputs):
        assert process.returncode == 0, output
    return outputs
