"""When the next checkpoint is taken: fixed, as the report has it, or by what a checkpoint costs here."""
