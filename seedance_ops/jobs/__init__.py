"""The job language: models, loader with exact errors, metric registry and JSON Schemas."""
