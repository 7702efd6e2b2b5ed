"""`orrery sample` keeps what it has when it is interrupted, and refuses what is not there.

usage: sample_test.py PATH_OF_ORRERY
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time


def sampling(orrery, folder, *words):
    return subprocess.Popen([orrery, "sample", "--period", "20ms", "--json", "--out", str(folder / "series.csv"), *words],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))


def catches(process, number):
    status = pathlib.Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(mask, 16) >> (number - 1) & 1


def check_interrupt(orrery, folder, number, *words):
    running = sampling(orrery, folder, *words)
    while not catches(running.pid, number):
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.01)
    time.sleep(2)  # a hundred periods, of which it needs three
    running.send_signal(number)
    output, errors = running.communicate(timeout=600)
    assert running.returncode == 0, (running.returncode, errors)
    rows = {row["series"]: row for row in json.loads(output)}
    assert rows["cpu"]["values"] >= 3, rows
    lines = (folder / "series.csv").read_text().splitlines()
    assert len(lines) > 3 and lines[0].startswith("series,"), lines[:3]
    (folder / "series.csv").unlink()
    return rows


def check_refused(orrery, words, message):
    done = subprocess.run([orrery, "sample", "--seconds", "0.1", *words], capture_output=True, text=True, check=False)
    assert done.returncode != 0 and message in done.stderr, (done.returncode, done.stderr)


def main():
    orrery = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_interrupt(orrery, folder, signal.SIGINT, "--seconds", "600")
        check_interrupt(orrery, folder, signal.SIGTERM, "--seconds", "600")
        # The command is ended with the observation.
        marker = folder / "alive"
        rows = check_interrupt(orrery, folder, signal.SIGINT, "--", "sh", "-c", f"echo $$ > {marker}; exec sleep 600")
        assert "command memory" in rows, rows
        command = int(marker.read_text())
        assert not os.path.exists(f"/proc/{command}/stat") or " Z " in pathlib.Path(f"/proc/{command}/stat").read_text()
    check_refused(orrery, ["--pid", "999999999"], "there is no process 999999999")
    check_refused(orrery, ["--interface", "nosuch0"], "there is no \"nosuch0\"")
    print("interrupted samplings kept what they had")


if __name__ == "__main__":
    main()
