"""Lowered programs as things that run: compiled, cached, grown while they run, and part of other JAX programs."""
