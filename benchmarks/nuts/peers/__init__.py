"""Published NUTS samplers whose chains run in lockstep, each an optional dependency.

Each module has `make(problem) -> Peer`. Importing a module raises ImportError if its library is not installed.
"""
