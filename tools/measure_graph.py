"""Measure `scattergen.graph` beside torch, numpy-groupies and a numba loop: each in a process of its own, in turns.

python tools/measure_graph.py                      every workload, every library that is installed
python tools/measure_graph.py --only rows,1-D --threads 1 --rounds 15

Results are compared with float64 sums or NumPy's own maxima before a time counts. Exit code 1 where one is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench_lib import turns

if __name__ == "__main__":
    sys.exit(turns.main("graphs", __doc__))
