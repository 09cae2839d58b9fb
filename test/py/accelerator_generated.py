"""Generated programs on this machine's accelerator, in XLA's loop and as kernels.

``make test-accelerator`` runs it.
"""

import os
from unittest import mock

import pytest
from accelerator import HAS_KERNELS
from hypothesis import HealthCheck, given, note, settings
from test_generated import ROWS, SHARED, expected, load, modules

import hlobatch as hb
from hlobatch.targets.gpu.forms import NAMES

FORMS = [{}, *([{"dispatch": "kernel"}, {"dispatch": "kernel", "max_stack_depth": 1}] if HAS_KERNELS else [])]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(source=modules())
def test_generated(source: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    note(source)
    module = load(source, tmp_path_factory.mktemp("generated"))
    wanted = expected(module)
    for options in FORMS:
        batched = hb.batch(module.entry.function, in_axes=module.entry.in_axes, **options)
        assert batched(*ROWS.T, SHARED).tolist() == wanted, options
    for form in NAMES if HAS_KERNELS else ():
        with mock.patch.dict(os.environ, HLOBATCH_OWN_CODE=form):
            batched = hb.batch(module.entry.function, in_axes=module.entry.in_axes, dispatch="kernel")
            assert batched(*ROWS.T, SHARED).tolist() == wanted, form
