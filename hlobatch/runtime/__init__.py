"""Running lowered programs: compile and cache them, divide batches, grow stacks, and be part of other JAX programs."""
