"""Engines that run a job, behind one protocol."""
