"""What machines want: what each form of a program costs there, and how code is best written for their compilers."""
