"""Run a program to its end, its time limit, or our own interruption; leave nothing running."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from .record import Record


class Ended(Record):
    """How a program ended: "" or how it failed ("exited with status 1"), and what it said."""

    failure: str
    output: str
    said_no: bool = False
    """Whether it failed by its own decision, not by a signal, the time limit, or for not being there."""


def run(command: tuple[str, ...], folder: Path, environment: dict[str, str], timeout: float) -> Ended:
    """Run `command` in `folder`: no shell, no input, output and errors in one text.

    `timeout` is in seconds, 0 is no limit; when it is over, or when an exception such as
    KeyboardInterrupt arrives, the program's whole process group is ended.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as problem:
        return Ended(f"cannot be started: {problem}", "")
    try:
        said = process.communicate(timeout=timeout or None)[0].decode(errors="replace")
    except subprocess.TimeoutExpired:
        return Ended(f"did not end in {timeout:g} s and was stopped", _stop(process).decode(errors="replace"))
    except BaseException:
        # Being in a session of its own, it does not hear the Ctrl-C that we heard.
        _stop(process)
        raise
    status = process.returncode
    if status == 0:
        return Ended("", said)
    if status < 0:
        return Ended(f"died of signal {-status}", said)
    return Ended(f"exited with status {status}", said, said_no=True)


def _stop(process: subprocess.Popen[bytes]) -> bytes:
    """End the process group that `process` leads, and return what it had said."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    try:
        return process.communicate(timeout=1)[0] or b""
    except subprocess.TimeoutExpired:
        # A grandchild that left the group still holds the pipe; it is not ours to end.
        return b""
    finally:
        if process.stdout:
            process.stdout.close()
