"""A fixture: variants of a function share its typed program, which options of ``hb.batch`` do not change."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest

from hlobatch import api
from hlobatch._jax import tracing_context
from hlobatch.ir.program import Program
from hlobatch.transforms.attempts import Lessons

FUNCTIONS = 4
"""Number of functions whose programs are cached; variants of one function are made in a row."""


@pytest.fixture(scope="module")
def typed_once() -> Iterator[None]:
    """Within a test module, trace each function once, since nothing that it refers to changes."""
    make = api.learned_program

    @functools.lru_cache(maxsize=FUNCTIONS)
    def programs(*of: Any) -> dict[Any, tuple[Program, Lessons]]:
        return {}

    def found(
        program: functools.partial[Any], types: dict[str, Any], lessons: Lessons, **how: Any
    ) -> tuple[Program, Lessons]:
        batched = program.func.__self__
        known = programs(batched.function, batched.type_inference, batched.follow)
        key = (*types.items(), *how.items(), *program.args[0], tracing_context())
        if key not in known:
            known[key] = make(program, types, lessons, **how)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "learned_program", found)
        yield
