"""A block of a program -> a function on the state of a run, for all lanes that stand at the block."""
