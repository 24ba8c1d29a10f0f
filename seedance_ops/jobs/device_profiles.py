"""From the devices that a variant names to their profiles in the hardware catalogue (R3.2)."""

from __future__ import annotations

from seedance_ops.cost.hardware import Accelerator, HardwareCatalogue, HardwareMissing, load_hardware
from seedance_ops.jobs.project import ProjectContext
from seedance_ops.jobs.variants import ResolvedVariant
from seedance_ops.training.compression.config import MixedPrecisionConfig
from seedance_ops.training.compression.device import DeviceProfile


def device_profiles(variant: ResolvedVariant, project: ProjectContext) -> tuple[DeviceProfile, ...]:
    """The profiles that ``mixed_precision`` needs; empty for other algorithms.

    ``auto`` takes the kind of accelerator that the variant asks for, and where the catalogue does not have
    it, or there are only CPUs, a neutral profile.

    Raises:
        HardwareMissing: A device that is named is not in the catalogue, or its entries disagree.
        CatalogueError: The catalogue is not valid.
    """
    compression = variant.compression
    if not isinstance(compression, MixedPrecisionConfig):
        return ()
    file = project.hardware_file
    catalogue = load_hardware(file) if file.is_file() else HardwareCatalogue(file=file, entries={})
    named = (compression.device,) if isinstance(compression.device, str) else compression.device
    return tuple(
        _own(variant.resources.accelerator.lower(), catalogue)
        if name == "auto"
        else profile_of(name, catalogue)
        for name in named
    )


def profile_of(name: str, catalogue: HardwareCatalogue) -> DeviceProfile:
    """The profile of a key, or of the keys that begin with ``name`` and agree on it.

    Upper and lower case are the same. An entry without one, of which nobody has published or measured
    anything, counts as neutral.
    """
    key_of = name.lower()
    keys = [key for key in catalogue.entries if key == key_of or key.startswith(f"{key_of}-")]
    if not keys:
        catalogue.accelerator(name)  # raises, naming those there are
    found = [_profile(name, catalogue.entries[key]) for key in keys]
    if any(profile != found[0] for profile in found):
        raise HardwareMissing(
            f"{name!r} is several entries of {catalogue.file} that differ: {', '.join(keys)}"
        )
    return found[0]


def _own(kind: str, catalogue: HardwareCatalogue) -> DeviceProfile:
    try:
        return profile_of(kind, catalogue)
    except HardwareMissing:
        return DeviceProfile(device=kind)


def _profile(name: str, accelerator: Accelerator) -> DeviceProfile:
    known = accelerator.gradient_compression
    if known is None:
        return DeviceProfile(device=name, vendor=accelerator.vendor)
    return DeviceProfile(device=name, vendor=accelerator.vendor, **known.model_dump(exclude={"source"}))
