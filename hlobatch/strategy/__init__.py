"""How a batch runs: a program, a batch, a target and what the user asked for -> a strategy, with reasons."""
