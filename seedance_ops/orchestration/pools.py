"""Pools: launches that would disturb each other's times wait for each other."""

from seedance_ops.jobs.profiles import LauncherProfile


def pool_of(profile: LauncherProfile) -> str:
    """The pool that keeps launches on one resource apart; its size is the profile's ``slots``."""
    return f"seedance-{profile.kind}"
