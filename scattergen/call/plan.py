"""Signature → plan: kernel, layout and threads, found once and kept.

Where there is no compiler the reference answers (of `at` NumPy does), or an error does (a setting).
"""

from __future__ import annotations

import warnings
from typing import Any

from ..arguments import memory
from ..arguments.addressing import Extents, canonical_nest
from ..arguments.arrays import Arguments, Array
from ..common import config, machine
from ..common.record import Record
from ..errors import CompilerNotFound
from ..load import prebuilt
from ..load.loader import Call
from ..load.supply import Ready, ready
from ..lower import lower, schedule
from ..lower.kernel import KernelSpec
from ..lower.layout import Numbers
from ..lower.work import Machine, Work
from . import threads

MOST_PLANS = 4096
"""Signatures kept; when there are more, all are forgotten and made again as they come."""


class Plan(Record):
    """What calls of one signature share; without `ready` no kernel answers them."""

    form: str
    """What the loops lower to; the kernel is one of that form's schedules."""
    kernel: KernelSpec
    layout: Numbers
    threads: int
    ready: Ready | None
    call: Call | None

    @property
    def is_baseline(self) -> bool:
        """Whether its kernel is to be asked for again at every call, as another one will take its place."""
        return self.ready is not None and self.ready.is_baseline


_plans: dict[tuple[Any, ...], Plan] = {}
_warned = False


def forget() -> None:
    """Drop every plan: something that plans depend on has changed.

    A new dictionary, since in a forked child without a GIL one that a thread of the parent was at stays locked.
    """
    global _plans
    _plans = {}


def plan(
    arguments: Arguments, target: Array, fresh: bool, most_threads: int | None, elements: int | None = None
) -> Plan:
    """Return the plan of a call that writes to `target`; `fresh` says that the kernel copies `data` there too.

    `elements` is for a call that a baseline kernel may answer: how many it counts for (`supply.ready`).
    """
    indices, updates, most = arguments.indices, arguments.updates, threads.most(most_threads)
    aligned = indices.flags.aligned and all(map(memory.aligned, (target, arguments.data, updates)))
    signature = (
        arguments.spec, target.shape, target.strides, indices.shape, indices.strides, updates.shape, updates.strides,
        arguments.unique, aligned, fresh, most,
    )  # fmt: skip
    found = _plans.get(signature)
    if found is None or (found.is_baseline and ready(found.kernel, elements) is not found.ready):
        found = _make(arguments, target, aligned, fresh, most, elements)
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        _plans[signature] = found
    return found


def _make(
    arguments: Arguments, target: Array, aligned: bool, fresh: bool, most_threads: int, elements: int | None
) -> Plan:
    spec, indices, updates = arguments.spec, arguments.indices, arguments.updates
    item, index_item = target.itemsize, indices.itemsize
    here = Machine(most_threads, *machine.cache_sizes()[1:])
    extents = Extents(indices.shape, updates.shape, target.shape, target.strides, indices.strides, updates.strides)
    nest = canonical_nest(spec, extents)
    form, found = lower.lower(nest, item, index_item, target.size) if aligned else (lower.any_strides(nest), None)
    if found is None:
        choice = schedule.of_nest(form, nest, item, target.nbytes, fresh, here)
    else:
        element, operation = lower.element(spec.dtype, spec.reduction)
        choice = schedule.choose(form, Work(found, element, operation, index_item, fresh), here)
    kernel = lower.kernel(choice.form, spec.dtype, spec.index, spec.reduction, len(nest.components))
    try:
        have = ready(kernel, elements)
    except CompilerNotFound as error:
        fall_back(error)
        return Plan(form=form, kernel=kernel, layout=choice.layout, threads=1, ready=None, call=None)
    alignment, index_alignment = (1, 1) if found is None else (min(item, 8), index_item)
    # NumPy calls any address of an empty array aligned; of such an array nothing is read.
    if not nest.components:
        index_alignment = 1
    if not target.size:  # every index is a bad one
        alignment = 1
    call = Call(have.loaded, choice.layout, choice.threads, alignment, index_alignment)
    return Plan(form=form, kernel=kernel, layout=choice.layout, threads=choice.threads, ready=have, call=call)


def fall_back(error: CompilerNotFound) -> None:
    """Warn once that there is no compiler; raise the error where the settings say so."""
    global _warned
    if config.settings().fallback == "error":
        raise error
    if not _warned:
        _warned = True
        text = f"scattergen answers slowly, by its reference (scattergen.at by NumPy's own functions): {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=prebuilt.outside_of_package())
