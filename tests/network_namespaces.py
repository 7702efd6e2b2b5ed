"""Tests of processes that have networks of their own, on machines that allow it."""

import os
import shutil
import subprocess
import sys
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
