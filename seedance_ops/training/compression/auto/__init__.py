"""``algorithm: auto``: which reduction makes a step shortest, found out on the link at hand."""
