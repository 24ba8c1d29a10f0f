"""What must be true of a run's tables before anything may be judged by them: one check a module."""
