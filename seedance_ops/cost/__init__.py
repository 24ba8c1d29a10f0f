"""What a run cost, and per unit of what."""
