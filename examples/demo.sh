#!/bin/bash
# A first look at Orrery. Usage: examples/demo.sh [PATH_TO_ORRERY]
set -euo pipefail

orrery=${1:-build/release/bin/orrery}

"$orrery" --version
