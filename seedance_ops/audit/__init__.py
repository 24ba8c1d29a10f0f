"""Published figures, held against each other."""
