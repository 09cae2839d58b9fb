"""GPUs as targets: XLA's loop over all lanes, or threads that run kernels."""
