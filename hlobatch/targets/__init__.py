"""Machines as targets: the forms of a run on each, their costs, and the style of code for its compiler."""
