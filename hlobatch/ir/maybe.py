"""What a variable holds that is None in some lanes and a value in others: a flag beside the value.

``type_join.py`` makes it of None and a type, where a variable was found to need it. The user's code never sees it: it
is handed the value, and its questions whether that is None are answered by the flag (``analysis/optional.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax


@jax.tree_util.register_dataclass
@dataclass(frozen=True, eq=False)
class Maybe:
    """A value, or None.

    Attributes:
        is_there: Whether there is a value.
        value: The value; zeros where there is none.
    """

    is_there: Any
    value: Any
