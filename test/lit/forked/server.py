"""Modules with a ``main`` -> for each, a command line that runs it in a fork of a process that has imported it.

To import JAX takes a second, and most commands of the suite less. `start` starts the process that imports, and that
forks for each message of `client.py`. What Python and JAX read from the environment when they start is the server's.
"""

import atexit
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

CLIENT = Path(__file__).with_name("client.py")


def start(modules: list[str], environment: dict[str, str]) -> dict[str, str]:
    """Start a server, which ends when this process does.

    Returns:
        The command line that stands for ``python -m`` each module.
    """
    path = f"{tempfile.mkdtemp()}/socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(128)  # a client that is early waits for the imports
        server = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno()), *modules],
            env={**os.environ, **environment, "OPENBLAS_NUM_THREADS": "1"},  # who has threads had better not fork
            stdin=subprocess.PIPE,  # never written to: its end is the end of this process
            pass_fds=[listener.fileno()],
        )
    atexit.register(server.communicate)
    return {module: f"{sys.executable} -S -E {CLIENT} {path} {module}" for module in modules}


def serve(number: str, *modules: str) -> None:
    """The server: a fork for each message, until nobody is left who could send one."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    mains = {module: importlib.import_module(module).main for module in modules}
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(fileno=int(number))
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        client, _ = listener.accept()
        if not os.fork():
            listener.close()
            become(client, mains)
        client.close()
    shutil.rmtree(Path(listener.getsockname()).parent)


def become(client: socket.socket, mains: dict[str, Callable[[], Any]]) -> NoReturn:
    """A forked process: be the command that the message asks for, and say how it ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, files, _, _ = socket.recv_fds(client, 4, 3)
    message = client.recv(int.from_bytes(size), socket.MSG_WAITALL)
    count, *words = os.fsdecode(message).split("\0")
    (module, *arguments), (folder, *environment) = words[: int(count)], words[int(count) :]
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1, errors="backslashreplace")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variable.split("=", 1) for variable in environment)
    sys.path[0], sys.argv[1:] = folder, arguments  # as in `python -m`
    status = 1
    try:
        sys.exit(mains[module]())
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:  # noqa: BLE001 - as an interpreter ends
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        client.sendall(bytes([status]))
        os._exit(status)


if __name__ == "__main__":
    serve(*sys.argv[1:])
