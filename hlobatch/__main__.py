"""``python -m hlobatch`` is the command ``hlobatch``."""

import sys

from hlobatch.cli import main

sys.exit(main())
