"""Benchmarks: hlobatch and its peers on the same work, measured in turn.

`python -m benchmarks --list` names the workloads; `make bench` runs all of them and writes `docs/benchmarks.md`.
"""
