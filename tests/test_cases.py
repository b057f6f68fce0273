"""Each case against the public functions, and against the oracle in plain Python."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from bits import difference
from cases import CASES, Case, oracle

import scattergen
from scattergen.errors import ScattergenError


def call(case: Case) -> Any:
    """Call the case's operator by scattergen's public functions."""
    arrays = (case.data, case.indices, case.updates)
    if case.op == "ScatterND":
        return scattergen.scatter_nd(*arrays, case.reduction, opset=case.opset)
    if case.op == "Scatter":
        return scattergen.scatter(*arrays, case.axis, opset=case.opset)
    return scattergen.scatter_elements(*arrays, case.axis, case.reduction, opset=case.opset)


def call_oracle(case: Case) -> Any:
    return oracle.scatter(case.op, case.opset, case.data, case.indices, case.updates, case.axis, case.reduction)


def test_ids_are_unique() -> None:
    ids = [case.id for case in CASES]
    assert len(set(ids)) == len(ids) > 110


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
@pytest.mark.parametrize("function", [call, call_oracle], ids=["scattergen", "oracle"])
def test_case(case: Case, function: Any) -> None:
    inputs = (case.data, case.indices, case.updates)
    before = [array.tobytes() for array in inputs]
    if case.error is not None:
        with pytest.raises(case.error) as caught:
            function(case)
        assert function is call_oracle or isinstance(caught.value, ScattergenError)
    else:
        got = function(case)
        assert case.expect is not None
        assert not difference(got, case.expect), case.note
        assert got.flags.writeable and got.dtype.isnative
        assert not any(np.shares_memory(got, array) for array in inputs)
    assert [array.tobytes() for array in inputs] == before


def test_no_case_warns() -> None:
    case = next(case for case in CASES if case.op == "Scatter")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        call(case)
