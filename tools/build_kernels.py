#!/usr/bin/env python3
"""Build kernels ahead of time into a folder: `scattergen build`, without an install.

python tools/build_kernels.py standard -o kernels
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scattergen.cli.cli import main

if __name__ == "__main__":
    sys.exit(main(["build", *sys.argv[1:]]))
