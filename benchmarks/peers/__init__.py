"""Peers that run in an interpreter of their own."""
