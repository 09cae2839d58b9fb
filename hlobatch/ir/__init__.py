"""The one intermediate representation: types, operations, programs, their printer and verifier."""
