"""Analyses: each module computes one property of programs, changes nothing, and may refuse a program with an error."""
