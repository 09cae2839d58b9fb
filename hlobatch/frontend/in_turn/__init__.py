"""When the items of an iterable are made: at once, or in turn with the code that uses them."""
