"""What machines want: a file for each kind, which says what each form of a program costs there."""
