"""The CPU of this machine as a target."""
