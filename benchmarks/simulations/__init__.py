"""Simulated studies with a known truth: what intervals cover, how often gates err, what they detect."""
