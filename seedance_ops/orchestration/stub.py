"""The small Python file that stands for a YAML job in a DAG bundle.

The only place that knows how Airflow turns files into DAGs: it will give way to Airflow's own DAG importers.
"""

from __future__ import annotations

from collections.abc import Mapping

_TEMPLATE = '''\
"""The Airflow DAG of a job, made from the YAML below. Edit the YAML file, not this."""

from seedance_ops.orchestration.build import build_dag

JOB = {job}
{defaults}
dag = build_dag(JOB, source={source!r}, project={project!r}{arguments})
'''

_REFUSED = '''\
"""The Airflow DAG of a job file that is refused."""

from seedance_ops.jobs.errors import JobError, JobErrors

raise JobErrors([JobError({message!r}, path={path!r}, suggestion={suggestion!r})])
'''


def stub_of(text: str, *, source: str, project: str, defaults: Mapping[str, str]) -> str:
    """The stub's source. The Code tab shows it, so the YAML stands in it as it was written.

    It contains the words "airflow" and "dag", without which Airflow's discovery skips a file.
    """
    named = "".join(f"    {name!r}: {_literal(content)},\n" for name, content in defaults.items())
    return _TEMPLATE.format(
        job=_literal(text),
        source=source,
        project=project,
        defaults=f"DEFAULTS = {{\n{named}}}\n" if defaults else "",
        arguments=", defaults=DEFAULTS" if defaults else "",
    )


def duplicate_stub(*, source: str, other: str) -> str:
    """The stub of a file whose job name another file has too: an import error that names both."""
    return _REFUSED.format(
        message="two jobs of one name",
        path="metadata.name",
        suggestion=f"rename it in {source}; the other stands in {other}",
    )


def unreadable_stub(*, source: str, reason: str) -> str:
    """The stub of a file that cannot be read: an import error of its own, so that it hides no other."""
    return _REFUSED.format(
        message=f"{source} cannot be read: {reason}", path="", suggestion="mend or delete the file"
    )


def _literal(text: str) -> str:
    """A Python literal that reads like the text itself, or an escaped one where that cannot be."""
    plain = text.isprintable() or all(char.isprintable() or char == "\n" for char in text)
    if not plain or "\\" in text or '"""' in text or text.endswith('"'):
        return repr(text)
    return f'"""\\\n{text}"""'
