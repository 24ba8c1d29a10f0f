"""Whether intervals cover, gates err and plans deliver as they say; and what the bootstrap costs.

    python benchmarks/statistics.py [--quick] [--json FILE]

Simulated studies with a known truth, through the functions that gates and the report call. Peers see the
same runs: Student's and bootstrap-t intervals alone, scipy's percentile and BCa bootstraps; for gates, what
people do without a test. The spread of a share is its exact 95 % binomial interval, that of seconds their
quartiles.
"""

from __future__ import annotations

import sys

if __name__ != "__main__":
    # This folder is first on the path of every script in it, so their `import statistics`, and that of any
    # library they use, finds this file: give them the standard library's.
    import importlib.util
    import os

    _spec = importlib.util.spec_from_file_location(
        __name__,
        os.path.join(os.path.dirname(os.__file__), "statistics.py"),  # noqa: PTH118, PTH120
    )
    assert _spec is not None
    assert _spec.loader is not None
    sys.modules[__name__] = importlib.util.module_from_spec(_spec)
    _spec.loader.exec_module(sys.modules[__name__])
else:
    from simulations.run import main

    sys.exit(main(__doc__))
