"""One module per workload, each with its `WORKLOAD`."""
