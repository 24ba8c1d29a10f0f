"""What a study will cost, and what earlier ones found."""
