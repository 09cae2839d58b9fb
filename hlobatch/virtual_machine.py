"""Program counter autobatching, eagerly (``hlobatch.virtual_machine.execute``), and its backends."""

from hlobatch.interpreters.backends import Backend, JaxBackend, NumpyBackend, XlaBackend
from hlobatch.interpreters.virtual_machine import Machine, execute, start

__all__ = ["Backend", "JaxBackend", "Machine", "NumpyBackend", "XlaBackend", "execute", "start"]
