"""TPUs as targets: XLA's loop over all lanes, or, where it is asked for, a kernel whose lanes lie in tiles."""
