"""``python client.py SOCKET MODULE …`` -> what a command does, in a fork of the process that `server.py` started.

It sends its arguments, folder, environment and open files, and ends with the exit status of the command. It starts some
hundred times, and so imports little.
"""

import os
import socket
import sys

OPEN = [0, 1, 2]
"""Files that a command is given: its input, its output, its errors."""


def main(path: str, *command: str) -> int:
    environment = [f"{name}={value}" for name, value in os.environ.items()]
    folder = os.getcwd()  # noqa: PTH109 - what pathlib imports takes as long as the rest
    message = os.fsencode("\0".join([str(len(command)), *command, folder, *environment]))
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(path)
        socket.send_fds(server, [len(message).to_bytes(4)], OPEN)
        server.sendall(message)
        status = server.recv(1)
    if not status:
        print(f"{command[0]} ended without an exit status", file=sys.stderr)
        return 1
    return status[0]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
