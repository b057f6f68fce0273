"""Measure what it saves to keep the memory of results: calls whose results are alive together, in turns.

python tools/measure_memory.py                      every size, everyone who is installed
python tools/measure_memory.py --only "1,024" --threads 1 --rounds 15

Each contestant has a process of its own. Times are those of all calls of a round. Exit code 1 where a result is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench_lib import turns

if __name__ == "__main__":
    sys.exit(turns.main("held", __doc__))
