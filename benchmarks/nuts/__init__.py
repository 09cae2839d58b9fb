"""NUTS in batches of chains: hlobatch against published samplers, on the paper's targets and harder ones."""

from benchmarks.nuts.workloads import WORKLOADS

__all__ = ["WORKLOADS"]
