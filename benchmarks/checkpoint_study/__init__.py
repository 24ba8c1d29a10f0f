"""What ``benchmarks/checkpoint.py`` compares, and against what limit."""
