"""A definition -> the definition as it is lowered, with the lines and columns of the user's code."""
