"""A real training GraphDef gives exactly the counts that are known of it, and its phases agree with a count by names.

usage: graphdef_facts_test.py PATH_OF_ORRERY SOURCE_DIR

The graph is not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without it.
"""

import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
NAMES = {
    "nodes_total": "nodes_total",
    "gpu_nodes": "device_nodes",
    "gpu_to_gpu_input_references": "device_references",
    "largest_component_nodes": "component_nodes",
    "largest_component_distinct_undirected_edges": "component_edges",
    "sum_tensor_size_component": "component_tensor_size",
    "ops_without_frequency": "ops_without_frequency",
}


def nodes_of(text):
    """{name: (op, data inputs)}, read line by line as the framework prints it."""
    nodes, name = {}, None
    for line in text.splitlines():
        field = re.match(r'  (name|op|input): "(.*)"$', line)
        if field and field[1] == "name":
            name = field[2]
            nodes[name] = ["", []]
        elif field and field[1] == "op":
            nodes[name][0] = field[2]
        elif field and not field[2].startswith("^"):
            nodes[name][1].append(field[2].split(":")[0])
    return nodes


def needed_by(nodes, names):
    seen, open_names = set(), list(names)
    while open_names:
        name = open_names.pop()
        if name not in seen:
            seen.add(name)
            open_names += nodes[name][1]
    return seen


def check_phases(ours, text):
    nodes = nodes_of(text)
    updates = [name for name, (op, _) in nodes.items() if "Apply" in op]
    needed = needed_by(nodes, updates)
    gradients = {name for name in needed if name.startswith("gradients/")}
    assert ours["phases"]["backward"] == len(gradients), (ours["phases"], len(gradients))
    assert sum(ours["phases"].values()) == len(nodes), ours["phases"]
    # Whatever the gradients need and is not one of them is forward; the loss comes on top.
    forward = needed_by(nodes, gradients) - gradients
    assert len(forward) <= ours["phases"]["forward"] <= len(forward) * 1.1, (ours["phases"], len(forward))
    assert ours["trained_variables"] == len({nodes[name][1][0] for name in updates}), ours["trained_variables"]
    assert ours["optimizers"] == sorted({nodes[name][0].split("Apply")[1] for name in updates}), ours["optimizers"]


def check_prediction(orrery, path):
    """A prediction, or a refusal that names a node."""
    run = subprocess.run([orrery, "predict", path], capture_output=True, text=True, check=False)
    assert run.returncode == 0 or re.search(r'node ".*" \(\w+\): ', run.stderr), run.stderr
    return run.stderr.strip() or "predicted"


def check_resources(orrery, path, folder):
    """The published network answers in shares near 0 to 1 for a graph in a hundred groups, and in units if they are known."""
    command = [orrery, "predict", path, "--resources", "--predictor", str(folder / "pre-train.pkl"), "--frequencies",
               str(folder / "node_frequency.csv"), "--json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [row["resource"] for row in rows] == ["GPU memory", "GPU", "network receive", "network transmit"], rows
    for row in rows:
        assert all(0 <= row[key] < 1.5 for key in ("idle_share", "burst_share", "amount_share")), row
    units = subprocess.run(command + ["--maxima", ",".join(["2"] * 12)], capture_output=True, text=True, check=True)
    for row, share in zip(json.loads(units.stdout), rows):
        assert abs(row["cycle_s"] - 2 * (share["idle_share"] + share["burst_share"])) < 1e-6, row


def main():
    orrery, source = sys.argv[1:]
    folder = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared")) / "data" / "driple"
    if not (folder / "graphs").is_dir():
        print(f"skipped: no graphs in {folder}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    expected = json.loads((folder / "graphs" / "expected_facts.json").read_text())
    for graph, facts in expected.items():
        with tempfile.NamedTemporaryFile(suffix=".pbtxt") as file:
            text = gzip.decompress((folder / "graphs" / f"{graph}.pbtxt.gz").read_bytes())
            file.write(text)
            file.flush()
            frequencies = folder / "official" / "node_frequency.csv"
            command = [orrery, "model", "show", file.name, "--nodes", "--json", "--frequencies", str(frequencies)]
            ours = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            prediction = check_prediction(orrery, file.name)
            check_resources(orrery, file.name, folder / "official")
        check_phases(ours, text.decode())
        for theirs, mine in NAMES.items():
            assert ours[mine] == facts[theirs], (graph, theirs, ours[mine], facts[theirs])
        for op, count in facts["gpu_op_histogram_top10"].items():
            assert ours["device_ops"][op] == count, (graph, op)
        assert abs(ours["component_type_sum"] - facts["sum_node_type_component"]) < 1e-6, ours["component_type_sum"]
        print(f"{graph}: {len(NAMES) + 2} facts agree; phases {ours['phases']}; {prediction}")


if __name__ == "__main__":
    main()
