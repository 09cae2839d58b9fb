"""Operations on arrays of all lanes: select, masked update, reading and writing slices, pushes and pops on stacks."""
