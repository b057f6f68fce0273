"""``python -m scattergen``: the command."""

import sys

from .cli.cli import main

if __name__ == "__main__":
    sys.exit(main())
