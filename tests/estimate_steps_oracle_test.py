"""The curve that `orrery estimate-steps` fits is as good as the best that an independent search finds.

usage: estimate_steps_oracle_test.py PATH_OF_ORRERY

Random curves of Optimus's form and of others, with noise. The search knows the form and the weights, and nothing of the program: it
moves the three coefficients by shrinking random steps from several beginnings. Losses that stand out between their neighbours are the
nearer of them first, as the form of the fit says.
"""

import json
import math
import pathlib
import random
import subprocess
import sys
import tempfile

CURVES = 4
LOSSES = 30


def losses_of(number):
    draw = random.Random(number)
    slope, start, floor = draw.uniform(0.02, 0.5), draw.uniform(0.3, 3), draw.uniform(0, 0.4)
    noise = draw.choice([0, 0.01, 0.05])
    laws = [
        lambda k: 1 / (slope * k + start) + floor,
        lambda k: 2 * k**-0.5 + floor,
        lambda k: math.exp(-k / 20) + floor + 0.1,
    ]
    law = laws[number % len(laws)]
    return [(k, 3 * law(k) * math.exp(noise * draw.gauss(0, 1))) for k in range(1, LOSSES + 1)]


def smoothed(points):
    middle = []
    for i in range(1, len(points) - 1):
        around = sorted([points[i - 1][1], points[i + 1][1]])
        middle.append((points[i][0], min(max(points[i][1], around[0]), around[1])))
    return [points[0], *middle, points[-1]]


def error(points, b0, b1, b2):
    largest = max(loss for _, loss in points)
    total = 0
    for i, (step, loss) in enumerate(points):
        weight = 4 ** (3 * i // len(points))
        total += (weight * (1 / max(1e-12, b0 * step + b1) + b2 - loss / largest)) ** 2
    return total


def search(points, draw):
    largest = max(loss for _, loss in points)
    top = min(loss for _, loss in points) / largest
    best = math.inf
    for _ in range(3):
        at = [10 ** draw.uniform(-4, 1), 10 ** draw.uniform(-2, 1), draw.uniform(0, top)]
        here, reach = error(points, *at), 1.0
        while reach > 1e-5:
            moved = False
            for _ in range(12):
                other = [
                    at[0] * math.exp(reach * draw.gauss(0, 1)),
                    at[1] * math.exp(reach * draw.gauss(0, 1)),
                    min(top, max(0, at[2] + reach * top * draw.gauss(0, 1))),
                ]
                there = error(points, *other)
                if there < here:
                    at, here, moved = other, there, True
            reach *= 1.0 if moved else 0.7
        best = min(best, here)
    return best


def main():
    orrery = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "losses.csv"
        for number in range(CURVES):
            points = losses_of(number)
            path.write_text("step,loss\n" + "".join(f"{k},{loss!r}\n" for k, loss in points), encoding="utf-8")
            run = subprocess.run(
                [orrery, "estimate-steps", path, "--json"], capture_output=True, text=True, check=True
            )
            answer = json.loads(run.stdout)[0]
            middle = smoothed(points)
            own = error(middle, answer["b0"], answer["b1"], answer["b2"])
            found = search(middle, random.Random(number))
            # The fit is exact in 1 / (loss − b2), the search in the loss: they differ by how curved the noise is.
            if own > 1.2 * found + 1e-9:
                sys.exit(f"curve {number}: the program's error is {own}, the search found {found}")
            print(f"curve {number}: {own:.6g}, searched {found:.6g}")


main()
