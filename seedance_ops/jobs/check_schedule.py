"""Whether a schedule can ever fire, in a time zone that exists."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime

from seedance_ops.jobs.findings import Finding, nearest
from seedance_ops.jobs.metadata import Schedule

_MACROS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_FIELD = re.compile(r"[0-9A-Za-z*/,#?-]+")
_RANDOM = re.compile(r"\b[RrHh]\b")
# Any date's weekday comes round within 28 years, 29 February within 8: enough to call a schedule dead.
_YEARS = 29
_START = datetime(2024, 1, 1, tzinfo=UTC)


def schedule_findings(schedule: Schedule | None) -> Iterator[Finding]:
    """The schedule's faults."""
    if schedule is None:
        return
    yield from _cron_findings(schedule.cron)
    yield from _zone_findings(schedule.timezone)


def _cron_findings(cron: str) -> Iterator[Finding]:
    from croniter import CroniterBadCronError, CroniterBadDateError, croniter

    path = ("schedule", "cron")
    allowed = f"minute hour day month weekday, or one of {', '.join(_MACROS)}"
    fields = cron.split()
    if cron.startswith("@"):
        if cron not in _MACROS:
            yield Finding(path, "not a cron macro", allowed, nearest(cron, _MACROS))
        return
    if len(fields) != 5 or not all(_FIELD.fullmatch(field) for field in fields) or _RANDOM.search(cron):
        yield Finding(path, "not a cron expression of five fields", allowed)
        return
    try:
        croniter(cron, _START, max_years_between_matches=_YEARS).get_next(datetime)
    except CroniterBadDateError:
        yield Finding(path, "never fires: no such date exists", allowed)
    except (CroniterBadCronError, ValueError, KeyError, AttributeError, IndexError, OverflowError) as error:
        yield Finding(path, f"not a cron expression: {str(error)[:120]}", allowed)


def _zone_findings(name: str) -> Iterator[Finding]:
    try:
        zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        known = zoneinfo.available_timezones()
        by_lower = {zone.lower(): zone for zone in known}
        closest = nearest(name, by_lower)
        yield Finding(
            ("schedule", "timezone"),
            "unknown time zone",
            allowed="an IANA name such as Asia/Shanghai, or UTC",
            suggestion=by_lower[closest] if closest else None,
        )
