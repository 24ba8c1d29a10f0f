"""Lay a job over its folders' ``defaults.yaml``: mappings merge deeply, everything else is replaced."""

from __future__ import annotations

from dataclasses import replace

from seedance_ops.jobs.yaml_nodes import Node


def merge(default: Node, job: Node) -> Node:
    """``job`` on top of ``default``; every value keeps the place it came from."""
    if not (isinstance(default.value, dict) and isinstance(job.value, dict)):
        return job
    merged = dict(job.value)
    for key, node in default.value.items():
        merged[key] = merge(node, merged[key]) if key in merged else node
    return replace(job, value=merged)
