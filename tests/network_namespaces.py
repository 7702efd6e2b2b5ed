"""Whether this machine can give processes networks of their own."""

import os
import shutil
import subprocess

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
