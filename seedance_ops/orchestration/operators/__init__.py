"""One operator for each stage of a run."""
