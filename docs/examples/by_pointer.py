"""Calls a kernel by its address, as numba, Cython or any other code can that calls C functions by pointer."""

import ctypes

import numpy as np

import scattergen

kernel = scattergen.compile("scatter_elements_f32_i64_r2a1_add").variant("rows")

pointer, count = ctypes.c_void_p, ctypes.c_int64
run = ctypes.CFUNCTYPE(count, pointer, pointer, pointer, pointer, pointer, pointer, ctypes.c_int32)(kernel.address)

data = np.arange(8, dtype=np.float32).reshape(2, 4)
indices = np.array([[0, 0, -1], [3, 2, 3]])
updates = np.array([[10, 20, 30], [40, 50, 60]], np.float32)
out = np.empty_like(data)

# rows, updates a row, size of a row, elements of out; then from one row to the next in out, indices and updates
layout = np.array([2, 3, 4, 8, 4, 3, 3], np.int64)
arrays = (out, data, indices, updates, layout)
position = run(*(array.ctypes.data for array in arrays), None, 1)
assert position == -1
print(out)
