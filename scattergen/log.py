"""What scattergen tells the log, without importing ``logging`` (10 ms) where nobody listens."""

from __future__ import annotations

import sys


def debug(text: str, *values: object) -> None:
    """Log for people who look for a fault; they have imported ``logging`` to turn it on."""
    logging = sys.modules.get("logging")
    if logging is not None:
        logging.getLogger("scattergen").debug(text, *values)


def warning(text: str, *values: object) -> None:
    """Log what anybody who waits wants to know."""
    import logging

    logging.getLogger("scattergen").warning(text, *values)
