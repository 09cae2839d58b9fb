"""Functions on JAX arrays -> functions of a StableHLO module that is being built, and what is done to such modules."""
