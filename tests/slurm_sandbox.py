"""A Slurm of its own for a test: one controller, two nodes on this machine, and munge, all in one folder."""

import contextlib
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import time

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "sinfo", "munged", "munge")
START_S = 300  # a test that skips because Slurm came too late would say nothing


def program(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def missing():
    return [name for name in PROGRAMS if program(name) is None]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def configuration(folder, ports):
    host = socket.gethostname().split(".")[0]
    user = getpass.getuser()
    nodes = [
        f"NodeName=n{i} NodeAddr=127.0.0.1 NodeHostname={host} Port={port} CPUs=2 RealMemory=500"
        for i, port in enumerate(ports[1:], 1)
    ]
    return "\n".join(
        [
            "ClusterName=orrery",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={ports[0]}",
            f"SlurmUser={user}",
            f"SlurmdUser={user}",
            "AuthType=auth/munge",
            f"AuthInfo=socket={folder}/munge.socket",
            "CredType=cred/munge",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core",
            "SlurmdParameters=config_overrides",
            "ReturnToService=2",
            "MpiDefault=none",
            "SchedulerParameters=sched_interval=1,batch_sched_delay=0",
            "JobAcctGatherType=jobacct_gather/none",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={folder}/spool-%n",
            f"SlurmctldPidFile={folder}/slurmctld.pid",
            f"SlurmdPidFile={folder}/slurmd-%n.pid",
            f"SlurmctldLogFile={folder}/slurmctld.log",
            f"SlurmdLogFile={folder}/slurmd-%n.log",
            *nodes,
            "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
            "",
        ]
    )


class Daemons:
    """Processes in the foreground, ended in the reverse order of their start."""

    def __init__(self, folder):
        self.folder = folder
        self.running = []

    def start(self, name, *arguments):
        with open(self.folder / f"{name}.out", "ab") as out:
            process = subprocess.Popen(
                [program(name), *map(str, arguments)], stdout=out, stderr=out, stdin=subprocess.DEVNULL
            )
        self.running.append((name, process))
        return process

    def dead(self):
        return [name for name, process in self.running if process.poll() is not None]

    def stop(self):
        for _, process in reversed(self.running):
            process.terminate()
            try:
                process.wait(120)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until(daemons, what, is_so):
    end = time.monotonic() + START_S
    while time.monotonic() < end:
        if is_so():
            return
        if daemons.dead():
            raise RuntimeError(f"{', '.join(daemons.dead())} ended while waiting for {what}")
        time.sleep(0.3)
    raise RuntimeError(f"no {what} after {START_S} s")


@contextlib.contextmanager
def slurm(folder):
    """Gives the environment in which sbatch finds this Slurm. RuntimeError: it does not start here."""
    folder = pathlib.Path(folder).resolve()
    (folder / "state").mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    conf = folder / "slurm.conf"
    conf.write_text(configuration(folder, free_ports(3)))
    environment = dict(os.environ, SLURM_CONF=str(conf), PATH=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    daemons = Daemons(folder)
    try:
        at = f"{folder}/munge"
        daemons.start(
            "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={at}.socket", f"--pid-file={at}.pid",
            f"--log-file={at}.log", f"--seed-file={at}.seed",
        )
        wait_until(daemons, "munge", lambda: (folder / "munge.socket").exists())
        daemons.start("slurmctld", "-D", "-f", conf)
        for node in ("n1", "n2"):
            daemons.start("slurmd", "-D", "-f", conf, "-N", node)

        def idle():
            said = subprocess.run(
                [program("sinfo"), "-h", "-N", "-o", "%T"], env=environment, capture_output=True, text=True, check=False
            )
            return said.stdout.split() == ["idle", "idle"]

        wait_until(daemons, "idle nodes", idle)
        yield environment
    finally:
        daemons.stop()
