"""Profiles: a batched function and a batch -> its work line by line, and the positions of its lanes, turn by turn."""
