"""Gates, judged by Great Expectations."""
