"""Published NUTS samplers whose chains run in lockstep, each an optional dependency.

Each module has `make(problem) -> Peer`. Import one only to use it: that is when it is missed.
"""
