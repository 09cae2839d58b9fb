"""The user's Python -> a ``Program`` with calls (the paper's figure 2), untyped."""
