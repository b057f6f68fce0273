"""Every test runs with a store of its own, and with the error setting: a fallback must not pass for a kernel.

``SCATTERGEN_TEST_CACHE`` names a folder that is kept, so that a second run finds the kernels of the first.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from scattergen.call import dispatch
from scattergen.common import config
from scattergen.load import caller, loader

_made = pytest.StashKey[str]()

settings.register_profile(
    "scattergen",
    deadline=None,  # the first call of a kernel compiles it
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("scattergen")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what `tools/regenerate.py` does as an option."""
    parser.addoption("--update-generated", action="store_true", help="write generated files afresh, then check them")


def pytest_configure(config: pytest.Config) -> None:
    """Point the store at a private folder, before anything reads the environment."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # the process that started this one has done it
        return
    kept = os.environ.get("SCATTERGEN_TEST_CACHE", "")
    if kept:
        Path(kept).mkdir(mode=0o700, parents=True, exist_ok=True)
    else:
        kept = config.stash[_made] = tempfile.mkdtemp(prefix="scattergen-tests-")
    os.environ["SCATTERGEN_CACHE_DIR"] = kept
    os.environ["SCATTERGEN_FALLBACK"] = "error"
    os.environ.setdefault("SCATTERGEN_COMPILE", "optimized")  # what users keep; test_supply.py has the baseline kernels


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the folder, if this run made it."""
    if _made in config.stash:
        shutil.rmtree(config.stash[_made], ignore_errors=True)


@pytest.fixture
def use_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Give a function that sets variables and makes scattergen read them; afterwards all is as before."""

    def use(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        config.use(None)

    yield use
    config.use(None)


@pytest.fixture(params=["caller", "no caller"])
def either_way(request: pytest.FixtureRequest) -> Iterator[str]:
    """With the caller module, and without one."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "no caller":
            patch.setattr(loader, "invoke", loader._invoke_abi)
            patch.setattr(loader, "functions", None)
            patch.setattr(caller, "adopt", lambda: True)
        elif not caller.make():
            pytest.skip("the caller module cannot be built here: no Python headers")
        dispatch.forget()
        yield request.param
    dispatch.forget()
