"""The networks against the same ones in Python's torch: answers, means over windows, loss, gradients, steps of Adam.

usage: network_oracle_test.py PATH_OF_NETWORK_DUMP

The bidirectional LSTM is torch.nn.LSTM; windows are cut and averaged here once more, row by row. The graph network is
written down as the product of dense matrices it is.
"""

import pathlib
import subprocess
import sys
import tempfile

TOLERANCE = 2e-5
SKIPPED = 77
INPUTS, HIDDEN, LAYERS, OUTPUTS, WIDTH, STRIDE, ROWS = 5, 7, 2, 2, 4, 2, 10

try:
    import numpy
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)


def read_dump(path):
    records, data, place = {}, path.read_bytes(), 0
    while place < len(data):
        end = data.index(b"\n", place)
        name, count = data[place:end].decode().split(" ")
        size = 4 * int(count)
        place = end + 1
        records[name] = torch.from_numpy(numpy.frombuffer(data[place : place + size], dtype=numpy.float32).copy())
        place += size + 1
    return records


def set_flat(parameters, values):
    """Fills parameters in their order; all numbers must be used."""
    place = 0
    with torch.no_grad():
        for parameter in parameters:
            parameter.copy_(values[place : place + parameter.numel()].reshape(parameter.shape))
            place += parameter.numel()
    assert place == values.numel(), f"{place} parameters instead of {values.numel()}"


def flat(tensors):
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


class Differences:
    def __init__(self):
        self.worst = {}

    def compare(self, name, ours, theirs):
        scale = max(theirs.abs().max().item(), 1e-3)
        self.worst[name] = (ours.reshape(-1) - theirs.reshape(-1)).abs().max().item() / scale

    def failures(self):
        for name, difference in self.worst.items():
            print(f"{name:20} differs by {difference:.1e}")
        return [name for name, difference in self.worst.items() if not difference <= TOLERANCE]


def train(parameters, loss_of, steps, weight_decay):
    optimizer = torch.optim.Adam(parameters, lr=1e-2, weight_decay=weight_decay)
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of().backward()
        optimizer.step()


def check_windows(records, differences):
    lstm = torch.nn.LSTM(INPUTS, HIDDEN, LAYERS, batch_first=True, bidirectional=True)
    head = torch.nn.Linear(2 * HIDDEN, OUTPUTS)
    parameters = [*lstm.parameters(), *head.parameters()]
    set_flat(parameters, records["bilstm.parameters"])

    starts = []
    for start in range(0, ROWS, STRIDE):
        starts.append(start)
        if start + WIDTH > ROWS:
            break
    rows = records["bilstm.rows"].reshape(ROWS, INPUTS)
    padded = torch.cat([rows, torch.zeros(WIDTH, INPUTS)])
    windows = torch.stack([padded[start : start + WIDTH] for start in starts])
    differences.compare("windows", records["bilstm.inputs"], windows)
    is_real = torch.tensor([[float(start + i < ROWS) for i in range(WIDTH)] for start in starts])
    targets = records["bilstm.targets"].reshape(len(starts), WIDTH, OUTPUTS)

    def answers():
        return head(lstm(windows)[0])

    def loss():
        each = (answers() - targets).abs() * is_real.unsqueeze(2)
        return each.sum() / (is_real.sum() * OUTPUTS)

    differences.compare("bilstm answers", records["bilstm.answers"], answers())
    means = torch.zeros(ROWS, OUTPUTS)
    for row in range(ROWS):
        said = [answers()[w, row - start] for w, start in enumerate(starts) if start <= row < start + WIDTH]
        means[row] = torch.stack(said).mean(0)
    differences.compare("bilstm means", records["bilstm.means"], means)
    differences.compare("bilstm loss", records["bilstm.loss"], loss())
    loss().backward()
    differences.compare("bilstm gradients", records["bilstm.gradients"], flat(p.grad for p in parameters))
    train(parameters, loss, 3, 0)
    differences.compare("bilstm after steps", records["bilstm.after"], flat(parameters))


def check_graph(records, differences):
    shapes = [(HIDDEN, INPUTS), (HIDDEN,), (HIDDEN, HIDDEN), (HIDDEN,), (OUTPUTS, HIDDEN), (OUTPUTS,)]
    parameters = [torch.zeros(shape, requires_grad=True) for shape in shapes]
    set_flat(parameters, records["gcn.parameters"])
    rows = records["gcn.inputs"].reshape(-1, INPUTS)
    targets = records["gcn.targets"].reshape(-1, OUTPUTS)
    joined = torch.eye(rows.shape[0])
    for source, sink in zip(records["gcn.sources"].long(), records["gcn.sinks"].long()):
        joined[source, sink] = joined[sink, source] = 1
    scale = torch.diag(joined.sum(1) ** -0.5)
    spread = scale @ joined @ scale

    def answers():
        hidden = rows
        for weight, bias in (parameters[0:2], parameters[2:4]):
            hidden = torch.relu(spread @ hidden @ weight.T + bias)
        return hidden @ parameters[4].T + parameters[5]

    def loss():
        return ((answers() - targets) ** 2).mean()

    differences.compare("gcn answers", records["gcn.answers"], answers())
    differences.compare("gcn loss", records["gcn.loss"], loss())
    loss().backward()
    differences.compare("gcn gradients", records["gcn.gradients"], flat(p.grad for p in parameters))
    train(parameters, loss, 3, 0.1)
    differences.compare("gcn after steps", records["gcn.after"], flat(parameters))


def main():
    torch.set_num_threads(1)
    differences = Differences()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "dump"
        subprocess.run([sys.argv[1], str(path)], check=True)
        records = read_dump(path)
    check_windows(records, differences)
    check_graph(records, differences)
    failures = differences.failures()
    print(f"{len(differences.worst)} comparisons, {len(failures)} beyond {TOLERANCE}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
