"""Files that hold batched functions: how they are written, and how they are read so that nothing in them is trusted."""
