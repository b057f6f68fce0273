"""The workloads on which scattergen and its peers are measured: shapes out of real programs, fixed seeds."""

from __future__ import annotations

import zlib
from typing import NamedTuple

from scattergen.bench import workload
from scattergen.bench.workload import Shape, Workload


class Row(NamedTuple):
    """One row of the table: what `workload.make` needs."""

    name: str
    what: str
    spec: str
    data: Shape
    indices: Shape
    style: str
    call_bound: bool = False

    def make(self) -> Workload:
        """Return the workload; always the same arrays."""
        return workload.make(
            self.spec,
            self.data,
            self.indices,
            self.style,
            seed=zlib.crc32(self.name.encode()),
            name=self.name,
            what=self.what,
            call_bound=self.call_bound,
        )


TABLE: tuple[Row, ...] = (
    Row("tiny-set-2d", "the call itself: the size of the specification's own example",
        "scatter_elements_f32_i64_r2a0_none", (3, 3), (2, 3), "unique", call_bound=True),
    Row("tiny-nd-rows", "the call itself: two slices of a 4x4x4 tensor",
        "scatter_nd_f32_i64_r3k1_none", (4, 4, 4), (2, 1), "unique", call_bound=True),
    Row("topk-logits", "top-k written back into logits, batch x vocabulary",
        "scatter_elements_f32_i64_r2a1_none", (32, 50257), (32, 64), "unique"),
    Row("rows-set-last", "wide rows, last axis, a quarter replaced",
        "scatter_elements_f32_i64_r2a1_none", (4096, 1024), (4096, 256), "unique"),
    Row("cols-set-first", "first axis, a quarter replaced",
        "scatter_elements_f32_i64_r2a0_none", (4096, 1024), (1024, 1024), "unique"),
    Row("cols-add-first", "features summed by segment over the first axis",
        "scatter_elements_f32_i64_r2a0_add", (4096, 256), (16384, 256), "random"),
    Row("hist-add-1d", "4 M values summed into 64 K bins",
        "scatter_elements_f32_i64_r1a0_add", (1 << 16,), (1 << 22,), "random"),
    Row("perm-set-1d", "a permutation of 16 M elements, far past the caches",
        "scatter_elements_f32_i32_r1a0_none", (1 << 24,), (1 << 24,), "unique"),
    Row("mid-max-4d", "the middle axis of a 4-d activation, max",
        "scatter_elements_f32_i64_r4a1_max", (8, 128, 64, 64), (8, 64, 64, 64), "random"),
    Row("bf-half-add", "float16 summed along the last axis",
        "scatter_elements_f16_i64_r2a1_add", (4096, 512), (4096, 1024), "random"),
    Row("gnn-rows-add", "graph message passing: 400 K messages of 64 features summed into 50 K nodes",
        "scatter_nd_f32_i64_r2k1_add", (50000, 64), (400000, 1), "random"),
    Row("embed-rows-set", "8 K rows of an embedding table replaced",
        "scatter_nd_f32_i64_r2k1_none", (50000, 256), (8192, 1), "unique"),
    Row("kv-cache-set", "one decoded token written into a key/value cache, float16",
        "scatter_nd_f16_i64_r4k3_none", (1, 32, 2048, 128), (1, 32, 1, 3), "unique"),
    Row("voxel-add", "points summed into a voxel grid, whole index tuples",
        "scatter_nd_f32_i64_r4k4_add", (4, 64, 128, 128), (1 << 20, 4), "random"),
    Row("pixels-set", "pixels of a batch of images set by coordinates",
        "scatter_nd_f32_i64_r4k4_none", (8, 3, 640, 640), (1 << 18, 4), "unique"),
    Row("int64-mul-mid", "integer product along the middle axis",
        "scatter_elements_i64_i64_r3a1_mul", (64, 256, 128), (64, 256, 128), "random"),
)  # fmt: skip

BY_NAME = {row.name: row for row in TABLE}


def chosen(only: str) -> list[Row]:
    """Return the rows whose name holds one of the words in `only` (comma-separated); all for an empty text."""
    words = [word for word in only.split(",") if word]
    return [row for row in TABLE if not words or any(word in row.name for word in words)]
