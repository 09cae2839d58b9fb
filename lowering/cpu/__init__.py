"""What XLA's CPU backend makes one kernel of: forms that code takes in it, and rewrites of the module that is built."""
