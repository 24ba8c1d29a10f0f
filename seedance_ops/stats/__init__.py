"""Whether a difference is one, and how large."""
