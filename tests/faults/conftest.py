"""One Airflow for all fault tests of a file: it must survive each of them.

Not one for the session: its processes would go on working beside all other tests.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.airflow_under_test import AirflowUnderTest


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AirflowUnderTest]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "SEEDANCE_STORAGE_URI"):
            patch.delenv(name, raising=False)
        started = AirflowUnderTest(tmp_path_factory.mktemp("airflow"))
        yield started
        started.stop()
