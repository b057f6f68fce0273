"""The parts of ``tools/bench.py``, in the order of their use.

- workloads.py: the table of workloads; sweep_cases.py: the grid of the sweep
- peers.py, numba_loop.py: adapters, workload → call, one for each library
- limit.py: a plain copy of the same arrays, as compiled C
- oracle.py: what is right
- contest.py: contestants in processes of their own, taking turns
- sweep.py: every type against its float32 sibling
- record.py: JSON, with all that the numbers depend on
- report.py, chart.py: a record as a table, as an SVG
- compare.py: two records against each other
"""
