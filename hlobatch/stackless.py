"""Local static autobatching (``hlobatch.stackless.execute``) and its backends."""

from hlobatch.interpreters.backends import Backend, JaxBackend, NumpyBackend, XlaBackend
from hlobatch.interpreters.stackless import execute

__all__ = ["Backend", "JaxBackend", "NumpyBackend", "XlaBackend", "execute"]
