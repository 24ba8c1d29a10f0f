"""Read the catalogue of launcher profiles."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from seedance_ops.cost.catalogue import PriceCatalogue, load_prices
from seedance_ops.jobs.check_secrets import reserved_variable_findings, secret_findings
from seedance_ops.jobs.errors import JobErrors
from seedance_ops.jobs.explain import explain
from seedance_ops.jobs.locate import Source, locate
from seedance_ops.jobs.plain import from_plain
from seedance_ops.jobs.profiles import LauncherCatalog, LauncherChoice, LauncherProfile
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.source_text import check_text, read_text
from seedance_ops.jobs.yaml_nodes import parse_yaml

OVERLAY_VARIABLE = "SEEDANCE_PRICES_OVERLAY"


class CatalogError(ValueError):
    """The catalogue is missing, broken, or lacks a profile."""


def launcher_profiles(project: ProjectContext) -> dict[str, LauncherProfile]:
    """Every profile of the project by name; raises ``CatalogError``."""
    file = project.launchers_file
    try:
        text = read_text(file)
        check_text(text, file)
        root = parse_yaml(text, file)
    except JobErrors as error:
        raise CatalogError(f"the launcher catalogue cannot be read: {error.render()}") from None
    data = root.plain() if root else None
    if root is None or not isinstance(data, dict):
        raise CatalogError(f"{file}: a mapping with the key launchers is expected")
    findings = list(secret_findings(root))
    launchers: dict[str, LauncherProfile] = {}
    try:
        launchers = from_plain(LauncherCatalog, data).launchers
    except ValidationError as error:
        findings += explain(error, LauncherCatalog, data)
    for name, profile in launchers.items():
        findings += reserved_variable_findings(profile.env, ("launchers", name, "env"))
    if findings:
        raise CatalogError(JobErrors(locate(findings, root, [Source(file, text)])).render())
    return launchers


def price_catalogue(project: ProjectContext) -> PriceCatalogue:
    """The project's prices, under those of the file that ``$SEEDANCE_PRICES_OVERLAY`` names, if it does.

    Contract prices are nobody else's business: they stay in a file outside the repository. Raises
    ``CatalogueError`` or ``PriceMissing``.
    """
    overlay = os.environ.get(OVERLAY_VARIABLE)
    return load_prices(project.prices_file, Path(overlay) if overlay else None)


def launcher_profile(choice: LauncherChoice, project: ProjectContext) -> LauncherProfile:
    """The profile a job's ``launcher`` means; raises ``CatalogError``."""
    if not isinstance(choice, str):
        return choice
    profiles = launcher_profiles(project)
    if choice not in profiles:
        raise CatalogError(f"no launcher profile {choice}; there are: {', '.join(profiles)}")
    return profiles[choice]
