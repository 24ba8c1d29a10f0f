"""Checkpoints: what is saved, where, when it counts as committed, and what is kept."""
