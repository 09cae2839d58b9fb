"""Passes, ``Program -> Program``; the docstring of each shows a small program before and after."""
