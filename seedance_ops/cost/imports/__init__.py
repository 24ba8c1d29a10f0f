"""Price lists of other tools, read with suspicion."""
