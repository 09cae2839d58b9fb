"""Files that hold batched functions: writing them, and reading them without trust in their content."""
