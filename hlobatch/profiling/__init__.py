"""Profiles: a batched function and a batch -> what it did line by line, and where its lanes were, turn by turn."""
