"""The shapes of names in a job, chosen so that each also fits a DAG id, an S3 key and a DNS label."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,48}[a-z0-9])?$"
NAME_RULE = "lower-case letters, digits and inner hyphens, at most 50 characters"

Name = Annotated[str, Field(pattern=NAME_PATTERN)]
"""Name of a job or variant."""
MetricName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
"""Name of a metric: a column name in every table."""
VariableName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""Name of an environment variable."""
ArgumentName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
"""Name of a command-line option, without its dashes."""
RelativePath = Annotated[str, Field(pattern=r"^[^\s/\\][^\x00-\x1f\\]*$", max_length=512)]
"""A POSIX path below the project's root."""
