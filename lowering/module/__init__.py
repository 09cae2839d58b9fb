"""Functions on JAX arrays -> functions of a StableHLO module that is being built, and rewrites of such modules."""
