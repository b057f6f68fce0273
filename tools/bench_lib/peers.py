"""Contestants: each turns a workload into a call that returns a fresh output, written as its users would.

None means that the library has no such call. Libraries are imported only here, inside of the adapters.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from scattergen.bench.workload import Array, Workload
from scattergen.common import config

from . import limit, numba_loop

Call = Callable[[], Any]


class Contestant(NamedTuple):
    """A row of the table."""

    name: str
    package: str
    """What has to be installed."""
    call: Callable[[Workload], Call | None]
    note: str = ""


def _threads() -> int:
    return int(os.environ.get("SCATTERGEN_NUM_THREADS", "0"))


def _scattergen(work: Workload) -> Call:
    return work.ours()


def _scattergen_out(work: Workload) -> Call:
    function, given, out = work.function, work.attributes, np.empty_like(work.data)
    arrays = (work.data, work.indices, work.updates)
    return lambda: function(*arrays, **given, out=out)


def _scattergen_fresh(work: Workload) -> Call:
    config.use(config.settings()._replace(keep_memory=0))
    return work.ours()


def _numpy(work: Workload) -> Call:
    return work.numpy()


def _onnx_model(work: Workload) -> Any:
    from onnx import helper

    kind = helper.np_dtype_to_tensor_dtype
    arrays = _feed(work)
    inputs = [helper.make_tensor_value_info(name, kind(array.dtype), array.shape) for name, array in arrays.items()]
    output = helper.make_tensor_value_info("y", kind(work.data.dtype), work.data.shape)
    node = helper.make_node(str(work.spec.op), list(arrays), ["y"], **work.attributes)
    graph = helper.make_graph([node], "scatter", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", work.spec.opset)], ir_version=10)


def _feed(work: Workload) -> dict[str, Array]:
    return {"data": work.data, "indices": work.indices, "updates": work.updates}


def _onnxruntime(work: Workload) -> Call:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    races = work.spec.op.addressing == "tuples" and work.reduction != "none"
    options.intra_op_num_threads = 1 if races else _threads()
    model = _onnx_model(work).SerializeToString()
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = _feed(work)
    return lambda: session.run(None, feed)[0]


def _onnx_reference(work: Workload) -> Call:
    from onnx.reference import ReferenceEvaluator

    evaluator, feed = ReferenceEvaluator(_onnx_model(work)), _feed(work)
    return lambda: evaluator.run(None, feed)[0]


def _torch(work: Workload) -> Call | None:
    import torch

    if _threads():
        torch.set_num_threads(_threads())
    data, updates = torch.from_numpy(work.data), torch.from_numpy(work.updates)
    # Zero strides are kept: torch has a path of its own for an expanded index.
    indices = torch.from_numpy(work.indices.astype(np.int64, copy=False))
    place, reduction = work.spec.place, work.reduction
    if work.spec.op.addressing == "axis":
        if reduction == "none":
            return lambda: data.scatter(place, indices, updates).numpy()
        if reduction == "add":
            return lambda: data.scatter_add(place, indices, updates).numpy()
        name = {"mul": "prod", "max": "amax", "min": "amin"}[reduction]
        return lambda: data.scatter_reduce(place, indices, updates, name, include_self=True).numpy()
    if place == 1 and reduction == "add":
        flat, rows = indices.reshape(-1), updates.reshape((-1, *work.data.shape[1:]))
        return lambda: data.index_add(0, flat, rows).numpy()
    key = tuple(indices[..., component] for component in range(place))
    if reduction in ("none", "add"):
        return lambda: data.clone().index_put_(key, updates, accumulate=reduction == "add").numpy()
    return None


def _jax(work: Workload) -> Call:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    data, indices, updates = (jnp.asarray(array) for array in _feed(work).values())
    method = {"none": "set", "add": "add", "mul": "multiply", "max": "max", "min": "min"}[work.reduction]
    place, on_axis = work.spec.place, work.spec.op.addressing == "axis"
    grid = [jnp.asarray(part) for part in np.ogrid[tuple(slice(0, extent) for extent in indices.shape)]]

    def scatter(data: Any, indices: Any, updates: Any) -> Any:
        key = [*grid[:place], indices, *grid[place + 1 :]] if on_axis else list(jnp.moveaxis(indices, -1, 0))
        return getattr(data.at[tuple(key)], method)(updates)

    compiled = jax.jit(scatter)
    return lambda: compiled(data, indices, updates).block_until_ready()


def _openvino(work: Workload) -> Call:
    import openvino

    core = openvino.Core()
    settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": "f32"}
    if _threads():
        settings["INFERENCE_NUM_THREADS"] = _threads()
    model = core.read_model(_onnx_model(work).SerializeToString())
    request = core.compile_model(model, "CPU", settings).create_infer_request()
    feed = _feed(work)
    return lambda: request.infer(feed, share_inputs=True)[0]


LIMIT = Contestant("limit", "cffi", limit.call, "a plain copy, not a scatter")
OURS = Contestant("scattergen", "scattergen", _scattergen)

TABLE: dict[str, Contestant] = {
    row.name: row
    for row in (
        OURS,
        LIMIT,
        Contestant("scattergen-out", "scattergen", _scattergen_out, "out= given: no output is made"),
        Contestant("scattergen-fresh", "scattergen", _scattergen_fresh, "no memory is kept: every output is fresh"),
        Contestant("numpy", "numpy", _numpy),
        Contestant("onnxruntime", "onnxruntime", _onnxruntime,
                   "sums of ScatterND on one thread: with more it loses updates (onnxruntime #18048)"),
        Contestant("torch", "torch", _torch),
        Contestant("jax", "jax", _jax, "jitted, arrays on its side"),
        Contestant("openvino", "openvino", _openvino),
        Contestant("numba", "numba", numba_loop.call, "the serial loop that a user writes for that one case"),
        Contestant("onnx", "onnx", _onnx_reference, "the reference evaluator"),
    )
}  # fmt: skip
PEERS = ("numpy", "onnxruntime", "torch", "jax", "openvino", "numba")
"""Those that are measured where nothing else is said."""
