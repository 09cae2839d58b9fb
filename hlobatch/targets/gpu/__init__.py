"""GPUs: a loop of XLA's over all lanes, or threads that run code of their own."""
