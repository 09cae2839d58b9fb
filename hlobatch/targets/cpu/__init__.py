"""The CPU as a target, by XLA's CPU backend: costs of runs, idioms, and the passes that make a whole run one kernel."""
