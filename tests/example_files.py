"""What the tests of examples share: a folder with the files that examples name, and what of an example is changed or
skipped to run it here, each with its reason."""

import csv
import gzip
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import network_namespaces  # noqa: E402
from elastic_job import processes_of, wait_for  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARED = pathlib.Path(os.environ.get("ORRERY_DATA", ROOT.parent / "shared"))
FASHION_MNIST = pathlib.Path("/usr/share/datasets/fashion-mnist")
TIMEOUT_S = 300  # of one example; only a program that hangs needs as long, also on a busy machine
CONFIGURATIONS = 60  # of data/cpu.dataset, so that a fit takes seconds
JOB = f"demo-{os.getpid()}"

Change = namedtuple("Change", "old new why")
Skip = namedtuple("Skip", "part reason why")
Answer = namedtuple("Answer", "code printed said")

# `{…}` is filled in by the Examples that run the line. Every `old` must occur in an example of the program or of a page.
CHANGES = [
    Change("orrery dataset build cpu.dataset", "orrery dataset build measured-{count}.dataset",
           "the file that examples read was measured on another machine and is not continued here"),
    Change("orrery dataset jobs jobs.dataset", "orrery dataset jobs measured-{count}.dataset", "the same"),
    Change("--count 2000 --time 1h", "--count 2000 --time 1s", "an hour"),
    Change("--count 400 --time 1h", "--count 400 --time 1s", "an hour"),
    Change("--count 800", "--count 800 --time 1s", "hours"),
    Change("--count 240", "--count 240 --time 1s", "an hour"),
    Change(r"(dataset (?:build|jobs) \S+)$", r"\1 --time 1s", "hours"),
    Change("profile resnet18 ", "profile resnet18:input=32 --threads 1 ", "ten seconds; threads wait for each other on a busy machine"),
    Change("profile mobilenet_v2 --workers 2", "profile mobilenet_v2:input=32 --workers 2 --steps 2", "ten seconds"),
    Change("profile gpt2:layers=2 ", "profile gpt2:layers=1,hidden=64,heads=2,seq=64 ", "ten seconds"),
    Change("--repetitions 100", "--repetitions 5 --threads 1", "ten seconds"),
    Change("sample --seconds 10", "sample --seconds 0.5", "ten seconds"),
    Change("profile lenet$", "profile lenet --repetitions 3", "seconds"),
    Change("--steps 2000 --keep", "--steps 2 --keep", "minutes"),
    Change("--device T4 --keep", "--device T4 --steps 2 --keep", "minutes"),
    Change("--form driple", "--form driple --steps 2", "minutes"),
    Change("lenet --epochs 1", "lenet --steps 10", "a minute"),
    Change("--epochs 3 --policy", "--steps 10 --policy", "minutes"),
    Change("train lenet --steps 300", "train lenet --steps 30", "ten seconds"),
    Change("train lenet --steps 1000", "train lenet --steps 10", "a minute"),
    Change("gns.py", "gns.py 20", "half a minute"),
    Change("ddp.py", "ddp.py 5", "half a minute"),
    Change(r"\bdemo\b(?=$| )", "{job}", "another test may have a job of this name at the same time"),
    Change("10.0.0.1:7700,10.0.0.2:7700", "{agents}", "there is one host"),
    Change("--listen 10.0.0.[12]:7700", "--listen 127.0.0.1:{port}", "there is one host"),
    Change("/etc/orrery/", "etc/orrery/", "the folder belongs to the system"),
    Change("/etc/bash_completion.d/", "etc/bash_completion.d/", "the folder belongs to the system"),
    Change(r"source <\(orrery completion zsh\)", "orrery completion zsh", "the script is for zsh"),
    Change("--seeds 200 --sweep sweep.jsonl --slurm", "--seeds 2 --sweep slurm.jsonl --slurm",
           "400 tasks, and runs that another example has kept"),
    Change("--sbatch '-p batch", "--sbatch '-p main", "the name of a partition"),
    Change("sixty.yaml", "examples/horizon.yaml", "the list comes from the lines above the example"),
    Change("--nodes N", "--nodes 2", "stands for a number"),
    Change("python3 (?=train.py|examples|-m)", "{python} ", "Debian's own Python, which has torch"),
]


def absent(*parts):
    folder = SHARED.joinpath(*parts)
    return "" if folder.exists() else f"no {folder}; set ORRERY_DATA to the folder that holds data/"


def modules_missing(*names):
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    return f"no Python module {', '.join(missing)}" if missing else ""


# Examples with this part are skipped for the reason that the function gives, if it gives one.
SKIPS = [
    Skip("../shared/data/ets_traces", lambda: absent("data", "ets_traces"), "measurements of others"),
    Skip("../shared/data/neusight", lambda: absent("data", "neusight"), "measurements of others"),
    Skip("../shared/data/driple", lambda: absent("data", "driple", "gpumemnet"), "measurements of others"),
    Skip("pre-train.pkl", lambda: absent("data", "driple", "official"), "weights of others"),
    Skip("--isolate", network_namespaces.reason_to_skip, "needs networks for processes"),
    Skip("dataset jobs", network_namespaces.reason_to_skip, "needs networks for processes"),
    Skip("--data fashion-mnist", lambda: "" if FASHION_MNIST.is_dir() else f"no {FASHION_MNIST}", "a Debian package"),
    Skip("gns.py", lambda: modules_missing("numpy", "torch") or ("" if FASHION_MNIST.is_dir() else f"no {FASHION_MNIST}"),
         "Debian packages"),
    Skip("ddp.py", lambda: modules_missing("numpy", "torch"), "Debian packages"),
    Skip("orrery-lab evaluate", lambda: "minutes; tests of their own run the evaluations", "the tests predict/evaluate_*"),
    Skip("orrery-lab dataset check", lambda: "minutes", "measures thirty configurations again"),
]


def changed(line, filled):
    """The line with every change that applies to it."""
    for change in CHANGES:
        line = re.sub(change.old, change.new.replace("{", "\0").replace("}", "\1"), line)
    for name, value in filled.items():
        line = line.replace(f"\0{name}\1", value)
    return line


def unused(lines):
    """What of the tables above applies to none of the lines."""
    for change in CHANGES:
        if not any(re.search(change.old, without_comment(line)) for line in lines):
            yield change.old
    for skip in SKIPS:
        if not any(skip.part in line for line in lines):
            yield skip.part


def reason_to_skip(line):
    return next((reason for skip in SKIPS if skip.part in line and (reason := skip.reason())), "")


def without_comment(line):
    return re.sub(r"\s+# .*$", "", line).strip()


def lines_of_program(orrery):
    """(command, example) of everything that `orrery reference` shows."""
    page = subprocess.run([str(orrery), "reference"], capture_output=True, text=True, check=True).stdout
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        for block in re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
            for line in block.splitlines():
                yield section.splitlines()[0], line


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def write_rows(path, header, rows):
    with (gzip.open(path, "wt") if path.suffix == ".gz" else open(path, "w", encoding="utf-8")) as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)


def write_tables(folder):
    write_rows(folder / "losses.csv", ["step", "loss"], [(100 * k, f"{1 / (0.004 * 100 * k + 0.45) + 0.2:.5f}") for k in range(40)])
    write_rows(folder / "gpu.csv", ["Time", "Utilization"], [(k / 10, 90 if k % 6 < 4 else 2) for k in range(1500)])
    write_rows(folder / "cases.csv", ["", "job_name", "norm_job_submit_time", "ddl", "A100", "V100"],
               [(k, f"case{k}", 60 * k, "inf" if k % 3 else 9000 + 60 * k, 400 + 90 * k, 700 + 150 * k) for k in range(20)])
    philly = [(f"2017-09-04 {10 + k // 60}:{k % 60:02}:41", 600.0 + 90 * k, 2 ** (k % 4), 0.0, f"vc{k % 3}") for k in range(80)]
    for name in ("philly.csv.gz", "philly_jobs.csv.gz"):
        write_rows(folder / name, ["timestamp", "duration", "num_gpus", "gpu_time", "cluster"], philly)
    write_rows(folder / "queue.csv", ["id", "submit_s", "duration_s", "gpus", "executed_s"],
               [(f"job-{k}", 30 * k, 3600 + 120 * k, 16, 1800 if k < 16 else "") for k in range(24)])
    prices = [("aws", "p4d", "A100", 8, "eu-west-1", 30.5, 12.2), ("aws", "p3.8xlarge", "V100", 4, "eu-west-1", 12.8, 4),
              ("azure", "nc24", "V100", 4, "west-europe", 13.1, 3.5), ("azure", "nc4", "T4", 1, "west-europe", 0.6, 0.2)]
    header = ["provider", "instance_type", "accelerator", "count", "region", "price_usd_h", "spot_usd_h"]
    write_rows(folder / "prices.csv", header, prices)
    write_rows(folder / "ours.csv", header, [("aws", "p4d", "A100", 8, "eu-west-1", 21, 12.2)])
    write_rows(folder / "metrics.csv", ["model", "batch", "optimizer", "GPU burst [s]", "GPU idle [s]", "GPU amount [%]"],
               [(model, 8 * k, "sgd", f"{0.01 * k * (m + 1):.3f}", 0.01, 60 + 5 * k) for m, model in
                enumerate(("lenet", "resnet18:input=32", "mlp", "vgg11:input=32")) for k in range(1, 7)])


def write_short_ets_traces(source, target):
    """One GPU and one family: all of them take a minute to read."""
    target.mkdir(parents=True)
    shutil.copy(source / "op_names.csv", target)
    shutil.copy(source / "T4__vgg.tsv.xz", target)
    shutil.copy(source / "T4__alexnet.tsv.xz", target)
    shutil.copy(source / "T4__mobilenet_v2.tsv.xz", target)
    with open(source / "index.csv", encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    families = {"vgg", "alexnet", "mobilenet_v2"}
    kept = [row for row in rows if row[header.index("gpu")] == "T4" and row[header.index("family")] in families]
    write_rows(target / "index.csv", header, kept)


def write_shared(folder):
    """What examples call ../shared."""
    for part in (("data", "neusight"), ("data", "driple")):
        if not absent(*part):
            folder.joinpath(*part).parent.mkdir(parents=True, exist_ok=True)
            folder.joinpath(*part).symlink_to(SHARED.joinpath(*part))
    if not absent("data", "ets_traces"):
        write_short_ets_traces(SHARED / "data" / "ets_traces", folder / "data" / "ets_traces")


TRAIN = """\
import os, time
for step in range(3):
    time.sleep(0.02)
print("trained by process", os.getpid())
"""


def copy_files(folder):
    for name in ("examples", "README.md", "models"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("docs/reference", "etc/orrery", "etc/bash_completion.d", "home/.config/fish/completions"):
        (folder / name).mkdir(parents=True)
    for secret in ("etc/orrery/secret", "home/.orrery-secret"):
        (folder / secret).write_text("open sesame\n")
        (folder / secret).chmod(0o600)
    (folder / "train.py").write_text(TRAIN)
    shutil.copy(ROOT / "examples" / "resnet50.job.yaml", folder / "job.yaml")
    shutil.copy(ROOT / "models" / "cpu.model", folder / "cpu.model")
    shutil.copy(ROOT / "models" / "t4.model", folder / "t4-ets.model")
    shutil.copy(ROOT / "data" / "jobs.dataset", folder / "jobs.dataset")
    lines = gzip.open(ROOT / "data" / "cpu.dataset", "rb").read().splitlines(keepends=True)
    (folder / "cpu.dataset").write_bytes(gzip.compress(b"".join(lines[: 1 + CONFIGURATIONS])))
    for name in ("graph.pbtxt", "graph.pb"):
        shutil.copy((ROOT / "fuzz" / "graphdef" / "lenet").with_suffix(pathlib.Path(name).suffix), folder / name)
    placed = re.sub(r'^  op: .*$', r'\g<0>\n  device: "/device:GPU:0"', (folder / "graph.pbtxt").read_text(), flags=re.MULTILINE)
    (folder / "graph.pbtxt").write_text(placed)  # published weights look at what runs on a GPU
    trace = (ROOT / "examples" / "two-steps.json").read_bytes()
    for name in ("trace", "rank0", "rank1"):
        (folder / f"{name}.json").write_bytes(trace)
    for name in ("trace", "before", "after", "kineto"):
        (folder / f"{name}.json.gz").write_bytes(gzip.compress(trace))
    official = SHARED / "data" / "driple" / "official"
    if official.is_dir():
        shutil.copy(official / "pre-train.pkl", folder)
        shutil.copy(official / "node_frequency.csv", folder)


# Files that commands make. Every command is quick, and examples that write the same file run later.
MADE = [
    "orrery jobtrace generate --jobs 60 --out jobs.csv",
    "orrery jobtrace generate --jobs 400 --rate 2000 --seed 2 --out last-month.csv",  # so many that jobs wait
    "orrery simulate jobs.csv --cluster 4x8 --policy fifo,srtf --json > monday.json",
    "orrery simulate jobs.csv --cluster 5x8 --policy fifo,srtf --json > tuesday.json",
    "orrery observe observed.jsonl resnet50 --device V100 --batch 64 --measured 190ms",
    "orrery fit examples/step_time.regress.ini --form regression --out step.model",
    "orrery fit jobs.dataset --form driple --steps 2 --out resources.model",
    "orrery predict lenet --device T4 --batch 32 --trace measured.trace.json",
    "orrery predict lenet --device T4 --batch 32 --trace predicted.trace.json",
    "orrery model export resnet18 --output mine.json",
    "orrery trace convert trace.json.gz steps.trace.json",
    "cp steps.trace.json run.trace.json && cp steps.trace.json a.trace.json && cp steps.trace.json b.trace.json",
]


class Examples:
    """A folder in which examples run. Nothing is left running, and no file outside it is written."""

    def __init__(self, orrery, lab=None):
        self.orrery = pathlib.Path(orrery).resolve()
        self.lab = lab and pathlib.Path(lab).resolve()
        self.base = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.base.name) / "work"
        self.folder.mkdir()
        programs = pathlib.Path(self.base.name) / "bin"
        programs.mkdir()
        for program in filter(None, (self.orrery, self.lab)):
            (programs / program.name).symlink_to(program)
        self.environment = {
            **os.environ,
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.folder / "home"),
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": str(ROOT / "python"),
            "ORRERY_LIBRARY": str(self.orrery.parent / "liborrery_elastic.so.1"),
        }
        self.count = 0
        self.started = []
        copy_files(self.folder)
        write_tables(self.folder)
        write_shared(pathlib.Path(self.base.name) / "shared")
        for line in MADE:
            made = self.shell(line)
            assert made.code == 0, f"{line}\n{made.said}"

    def close(self):
        self.stop_all()
        self.base.cleanup()

    def fresh_copy(self):
        """Another folder with the same files, for examples that expect nothing of those before."""
        self.count += 1
        folder = self.folder.parent / f"copy-{self.count}"
        shutil.copytree(self.folder, folder, symlinks=True)
        return folder

    def shell(self, line, folder=None):
        """Runs a line as it is, in a process group of its own."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(["/bin/bash", "-c", line], cwd=folder or self.folder, env=self.environment,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=errors, start_new_session=True)
            try:
                code = process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                code = process.wait()
                errors.write(f"\nkilled after {TIMEOUT_S} s\n".encode())
            out.seek(0)
            errors.seek(0)
            return Answer(code, out.read().decode(), errors.read().decode())

    def start(self, line, folder, ready):
        """Runs a line in the background until stop_all(); `ready` tells from what it has printed when it may be used."""
        log = open(self.folder / f"background-{len(self.started)}-{self.count}", "w+", encoding="utf-8")
        process = subprocess.Popen(["/bin/bash", "-c", f"exec {line}"], cwd=folder, env=self.environment,
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self.started.append((process, log))
        said = lambda: os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode()  # noqa: E731
        wait_for(lambda: process.poll() is not None or ready(said()), TIMEOUT_S)
        assert process.poll() is None, f"{line}\n{said()}"
        return process, said

    def stop_all(self):
        for process, log in reversed(self.started):
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            log.close()
        self.started.clear()
        for pid in processes_of(JOB):
            os.kill(pid, signal.SIGKILL)

    def run(self, line, folder=None):
        """Runs an example with its changes."""
        self.count += 1
        folder = folder or self.folder
        filled = {"job": JOB, "port": str(free_port()), "count": str(self.count), "python": sys.executable}
        try:
            if "--hosts" in line:
                filled["agents"] = ",".join(self.start_agent(folder) for _ in range(2))
            if re.search(r"\bdemo\b", line) and not line.startswith("orrery run"):
                self.start_job(4 if "--worker 3" in line else 3)
            command = without_comment(changed(without_comment(line), filled))
            if command.startswith("orrery agent"):
                return self.run_until_it_speaks(command, folder)
            answer = self.shell(command, folder)
            target = re.search(r"> (\S+)$", command)
            if target and answer.code == 0:
                home = str(self.folder / "home")
                answer = answer._replace(printed=(folder / target[1].replace("~", home)).read_text())
            return answer
        finally:
            self.stop_all()

    def start_agent(self, folder):
        address = f"127.0.0.1:{free_port()}"
        secret = self.folder / "home" / ".orrery-secret"
        self.start(f"orrery agent --listen {address} --secret-file {secret}", folder, bool)
        return address

    def start_job(self, workers):
        program = self.orrery.parent / "elastic_program"
        line = f"orrery run -n {workers} --elastic 1:4 --name {JOB} -- {program} 1000000000 2000"
        ready = lambda _: self.workers() == workers  # noqa: E731
        self.start(line, self.folder, ready)

    def workers(self):
        answer = self.shell(f"orrery ps {JOB} --json")
        return len([row for row in json.loads(answer.printed) if row["state"] == "worker"]) if answer.code == 0 else 0

    def run_until_it_speaks(self, command, folder):
        """A service: what it says once it listens, and how it ends when it is asked to."""
        process, said = self.start(command, folder, bool)
        process.terminate()
        return Answer(process.wait(TIMEOUT_S), said(), said())
