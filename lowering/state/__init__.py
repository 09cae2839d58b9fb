"""The state of a run: the arrays that the loop carries, what enters and leaves them, and the fate of each input."""
