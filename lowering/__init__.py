"""Program with explicit stacks -> one StableHLO module.

``layout`` says what the state of a run is, ``blocks`` turns each block into a function on that state,
``trim`` leaves out what a block does not touch, ``captures`` finds the arrays that user code closes over, ``lanes`` is
how inputs enter lanes and results leave them, ``splice`` brings traced code into the module, ``dispatch`` builds the
loop around the blocks, and ``to_stablehlo`` puts the module together.
"""
