"""Program with explicit stacks -> one StableHLO module.

``to_stablehlo`` puts the module together. Each folder imports from those below it only:

- ``turns``: one turn of the loop: which blocks run next, how inputs enter lanes and results leave them.
- ``blocks``: a block of the program as a function on the state of a run, for all lanes that stand at it.
- ``state``: which arrays the loop carries, what enters and leaves them, and what becomes of each input.
- ``module``: bringing traced functions into the module that is being built.
- ``arrays``: choosing, masking, reading and writing rows of arrays of all lanes.
"""
