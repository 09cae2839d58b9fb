"""Workloads; each module has its `WORKLOAD`, or several in `WORKLOADS`."""
