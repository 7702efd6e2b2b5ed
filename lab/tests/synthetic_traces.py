"""Launch traces of a GPU that does not exist, in the layout of the published ones, for tests that train on them."""

import lzma
import random

CONV, RELU, UPDATE = 203, 152, 227


def trace_rows(batch, layers):
    rows = []
    for phase, order in ((1, (CONV, RELU)), (2, (RELU, CONV))):
        for _ in range(layers):
            for kind in order:
                device = 1000 * batch if kind == CONV else 500 * batch
                rows.append((kind, phase, 1, 0, 4096 * batch, 10, 128, f"{batch}:64:3", device, 5000, 9000, 4000))
    for _ in range(layers):
        rows.append((UPDATE, 3, 1, 0, 0, 10, 128, "-", 3000, 4000, 9000, 4000))
    return rows


def write_traces(folder):
    draw = random.Random(1)
    index = ["trace_id,gpu,model,family,batch,image_hw,overlap,span_ns"]
    text = ""
    for number in range(60):
        batch, layers = 8 << draw.randrange(4), 3 + draw.randrange(8)
        rows = trace_rows(batch, layers)
        span = sum(row[8] + row[9] for row in rows)
        index.append(f"t{number},G,m{layers},made,{batch},64,0,{span}")
        text += f"#t{number}\t{len(rows)}\t0\n"
        text += "".join("\t".join(map(str, row)) + "\n" for row in rows)
    (folder / "index.csv").write_text("\n".join(index) + "\n")
    (folder / "op_names.csv").write_text(f"op,name\n{CONV},conv2d\n{RELU},relu\n{UPDATE},adam\n")
    (folder / "G__made.tsv.xz").write_bytes(lzma.compress(text.encode()))
