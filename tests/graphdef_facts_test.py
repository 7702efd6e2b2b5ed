"""A real training GraphDef gives exactly the counts that are known of it.

usage: graphdef_facts_test.py PATH_OF_ORRERY SOURCE_DIR

The graph is not part of the product: ORRERY_DATA, or `shared` beside the source tree. Skipped without it.
"""

import gzip
import json
import os
import pathlib
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


def main():
    orrery, source = sys.argv[1:]
    folder = pathlib.Path(os.environ.get("ORRERY_DATA", pathlib.Path(source).parent / "shared")) / "data" / "driple"
    if not (folder / "graphs").is_dir():
        print(f"skipped: no graphs in {folder}; set ORRERY_DATA to the folder that holds data/")
        sys.exit(SKIPPED)
    expected = json.loads((folder / "graphs" / "expected_facts.json").read_text())
    for graph, facts in expected.items():
        with tempfile.NamedTemporaryFile(suffix=".pbtxt") as file:
            file.write(gzip.decompress((folder / "graphs" / f"{graph}.pbtxt.gz").read_bytes()))
            file.flush()
            frequencies = folder / "official" / "node_frequency.csv"
            command = [orrery, "graphdef", "show", file.name, "--json", "--frequencies", str(frequencies)]
            ours = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for theirs, mine in NAMES.items():
            assert ours[mine] == facts[theirs], (graph, theirs, ours[mine], facts[theirs])
        for op, count in facts["gpu_op_histogram_top10"].items():
            assert ours["device_ops"][op] == count, (graph, op)
        assert abs(ours["component_type_sum"] - facts["sum_node_type_component"]) < 1e-6, ours["component_type_sum"]
        print(f"{graph}: {len(NAMES) + 2} facts agree")


if __name__ == "__main__":
    main()
