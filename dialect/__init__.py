"""The `autobatch` MLIR dialect: `Program` to and from modules, its verifier, and what is generated from `Autobatch.td`."""
