"""Tests of processes that have networks of their own, on machines that allow it."""

import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

SKIPPED = 77


def reason_to_skip():
    """Why this machine cannot isolate networks, or nothing."""
    if os.geteuid() != 0:
        return "not root"
    missing = [name for name in ("ip", "tc", "unshare", "nsenter", "setpriv") if shutil.which(name) is None]
    if missing:
        return f"no {', '.join(missing)}"
    script = "ip link add one type veth peer name two && tc qdisc add dev one root tbf rate 1mbit burst 4096 limit 4096"
    tried = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=False)
    return "" if tried.returncode == 0 else f"network namespaces are not permitted: {tried.stderr.strip()}"


def run_or_skip():
    """The tests of the program, or a line that says why they cannot run here."""
    reason = reason_to_skip()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    unittest.main()


class Network:
    """Hosts: namespaces of sleeping processes, joined by a bridge in one more."""

    def __init__(self, hosts):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in range(hosts + 1)]
        self.hosts = hosts
        self.hub = self.holders[hosts].pid
        own = pathlib.Path("/proc/self/ns/net").stat().st_ino
        for holder in self.holders:
            while pathlib.Path(f"/proc/{holder.pid}/ns/net").stat().st_ino == own:
                time.sleep(0.01)
            self.run(holder.pid, "ip link set lo up")
        # Two bridges, of which the second is for a split.
        self.run(self.hub, "ip link add br0 type bridge && ip link set br0 up")
        self.run(self.hub, "ip link add br1 type bridge && ip link set br1 up")
        for host in range(hosts):
            pid = self.holders[host].pid
            self.run(self.hub, f"ip link add port{host} type veth peer name eth0 netns {pid} && "
                               f"ip link set port{host} master br0 up")
            self.run(pid, f"ip addr add {self.address(host)}/24 dev eth0 && ip link set eth0 up")

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    def inside(self, host, *words):
        """The command that runs a command on a host."""
        return ["nsenter", "--target", str(self.holders[host].pid), "--net", *(str(word) for word in words)]

    @staticmethod
    def run(pid, script):
        done = subprocess.run(["nsenter", "--target", str(pid), "--net", "sh", "-c", script], capture_output=True,
                              text=True, check=False)
        assert done.returncode == 0, f"{script}: {done.stderr}"

    def cut(self, host):
        self.run(self.hub, f"ip link set port{host} down")

    def heal(self, host):
        self.run(self.hub, f"ip link set port{host} up")

    def split(self, hosts):
        """These hosts see each other, and nobody else."""
        for host in hosts:
            self.run(self.hub, f"ip link set port{host} master br1")

    def join_up(self):
        for host in range(self.hosts):
            self.run(self.hub, f"ip link set port{host} master br0")

    def lose_what_is_sent(self, host):
        """Into a bucket of tokens that no frame fits."""
        self.run(self.holders[host].pid, "tc qdisc add dev eth0 root tbf rate 1kbit burst 10 limit 10")

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()
