"""The `autobatch` MLIR dialect: programs to and from modules, verified, and what is generated from `Autobatch.td`."""
