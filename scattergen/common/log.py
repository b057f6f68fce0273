"""What scattergen tells the log, without importing ``logging`` (10 ms) where nobody listens."""

from __future__ import annotations

import sys


def debug(text: str, *values: object) -> None:
    """Log for people who look for a fault; they have imported ``logging`` to turn it on."""
    if "logging" in sys.modules:
        # The statement waits for another thread that is importing it now; sys.modules has half of it already.
        import logging

        logging.getLogger("scattergen").debug(text, *values)


def warning(text: str, *values: object) -> None:
    """Log what anybody who waits wants to know."""
    import logging

    logging.getLogger("scattergen").warning(text, *values)
