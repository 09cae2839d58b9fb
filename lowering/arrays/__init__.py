"""Arrays of all lanes -> the same with other rows: choices, masks, gathers and scatters, stacks."""
