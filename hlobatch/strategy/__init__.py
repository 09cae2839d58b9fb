"""How a batch runs: a program, a batch, a target and the user's options -> a strategy, with reasons."""
