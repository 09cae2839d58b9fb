"""Passes, ``Program -> Program``; each opens with what it does to a small program."""
