"""Functions on arrays -> functions of a StableHLO module that is being built."""
