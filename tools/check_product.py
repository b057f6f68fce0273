"""Check every combination of operator, version, reduction, types, shape and layout against the reference.

    python tools/check_product.py                   all of them (most of an hour on two cores)
    python tools/check_product.py --only 'bf16_.*_add' --jobs 2
    python tools/check_product.py --sample 5000 --seed 7

The exit code is 0 when all agree, else 1.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

CHUNK = 200


def check_some(items: list[Any]) -> list[str]:
    """Return a line for each combination that is wrong."""
    import product

    lines = []
    for item in items:
        try:
            problem = product.check(item)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            lines.append(f"{item}: {problem}")
    return lines


def chunks(items: list[Any]) -> Iterator[list[Any]]:
    """Yield the combinations in runs that share their inputs and expectations."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def main() -> int:
    """Check what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="REGEX", help="those whose text holds a match")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="about N of them, by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes to use")
    chosen = parser.parse_args()
    os.environ["SCATTERGEN_FALLBACK"] = "error"
    os.environ.setdefault("SCATTERGEN_COMPILE", "optimized")

    import product  # after the environment is set

    items = product.sample(chosen.sample, chosen.seed) if chosen.sample else product.combinations()
    wanted = product.matching(items, chosen.only)
    start, done, wrong = time.monotonic(), 0, 0
    with multiprocessing.get_context("spawn").Pool(chosen.jobs) as pool:
        for number, lines in enumerate(pool.imap(check_some, chunks(wanted)), 1):
            done, wrong = min(number * CHUNK, len(wanted)), wrong + len(lines)
            for line in lines:
                print(f"\r{line}", file=sys.stderr)
            seconds = time.monotonic() - start
            print(f"\r{done} of {len(wanted)}, {wrong} wrong, {seconds:.0f} s ", end="", flush=True)
    print()
    if not wanted:
        print("nothing matches", file=sys.stderr)
    return 1 if wrong or not wanted else 0


if __name__ == "__main__":
    sys.exit(main())
