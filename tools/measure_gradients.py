"""Measure `scattergen.gradients` beside torch's backward of the same call: each in a process of its own, in turns.

python tools/measure_gradients.py                      every workload
python tools/measure_gradients.py --only rows --threads 1 --rounds 15

Results are checked before a time counts. Exit code 1 where one is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench_lib import turns

if __name__ == "__main__":
    sys.exit(turns.main("gradients", __doc__))
