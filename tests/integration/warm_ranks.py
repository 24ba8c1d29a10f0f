"""Imported once by the process that ranks are forked from: what each of them would import or load otherwise.

No operation of torch's may run here, since a fork does not take its threads along.
"""

from __future__ import annotations

import os

import numpy as np
import pandas as pd  # noqa: F401 - pyarrow imports it with the first table that is written
import torch._dynamo  # noqa: F401 - the first optimizer imports it

import seedance_ops.training.checkpoint.checkpointer
import seedance_ops.training.metrics.writing
import seedance_ops.training.session  # noqa: F401
from seedance_ops.storage.config import StorageLocation
from seedance_ops.storage.connection import connect
from seedance_ops.training.compression.fitted_kernels import (
    BINS,
    add_row,
    count_magnitudes,
    encode_row,
    fitting_step,
    unary_table,
)
from seedance_ops.training.compression.level_kernels import kernels_of

# Numba takes most of a second to read its first compiled loop.
_encoded = np.zeros((1, 8), np.uint8)
kernels_of(5).encode(np.ones((1, 8), np.float32), np.ones((1, 1), np.float32), 8, _encoded)
kernels_of(5).add(_encoded, np.ones((1, 1), np.float32), 8, np.zeros(8, np.float32))
_counts, _row, _fitted = np.zeros(BINS, np.int64), np.ones(8, np.float32), np.zeros(16, np.uint8)
count_magnitudes(_row, _counts)
encode_row(_row, np.float32(fitting_step(_counts, 20)), np.zeros(8, np.int32), _fitted)
add_row(_fitted, unary_table(), np.zeros(8, np.float32))

os.environ |= {"AWS_ACCESS_KEY_ID": "a rank", "AWS_SECRET_ACCESS_KEY": "has its own"}
connect(StorageLocation(uri="s3://nowhere", endpoint_url="http://127.0.0.1:1"))
