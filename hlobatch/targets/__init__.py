"""Machines as targets: which forms a run has on each, what they cost, and how code is written for its compiler."""
