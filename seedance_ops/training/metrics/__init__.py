"""What a run records about itself, as tables in the object store."""
