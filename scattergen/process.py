"""Run a program to its end, its time limit, or our own interruption; leave nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path


def run(
    command: tuple[str, ...], folder: Path, environment: dict[str, str], timeout: float
) -> tuple[str, str]:
    """Run `command` in `folder`; return why it failed ("" where it did not) and what it said.

    No shell, no input. `timeout` is in seconds, 0 is no limit; when it is over, or when an exception
    such as KeyboardInterrupt arrives, the program's whole process group is ended.
    """
    name = Path(command[0]).name
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
        return f"{name} cannot be started: {problem}", ""
    try:
        said, _ = process.communicate(timeout=timeout or None)
    except subprocess.TimeoutExpired:
        return f"{name} did not end in {timeout:g} s and was stopped", _stop(process).decode(errors="replace")
    except BaseException:
        # Being in a session of its own, it does not hear the Ctrl-C that we heard.
        _stop(process)
        raise
    status = process.returncode
    if status == 0:
        failure = ""
    else:
        failure = f"{name} " + (f"exited with status {status}" if status > 0 else f"died of signal {-status}")
    return failure, said.decode(errors="replace")


def _stop(process: subprocess.Popen[bytes]) -> bytes:
    """End the process group that `process` leads, and return what it had said."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    except ProcessLookupError:
        pass
    try:
        return process.communicate(timeout=1)[0] or b""
    except subprocess.TimeoutExpired:
        # A grandchild that left the group still holds the pipe; it is not ours to end.
        return b""
    finally:
        if process.stdout:
            process.stdout.close()
