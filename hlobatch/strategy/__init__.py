"""What a program is like, what a machine is like, and what the user asked for -> how a batch runs, and why."""
