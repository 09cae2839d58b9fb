"""The `autobatch` MLIR dialect: programs to and from modules, a verifier, and code generated from a `.td` file."""
