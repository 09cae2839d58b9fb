"""The processor, and XLA's CPU backend: how it makes one kernel of a whole run, and the rewrites that have it do so."""
