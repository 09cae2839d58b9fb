"""A block of a program -> a function on the state of a run, which runs the block for all lanes that wait at it."""
