"""Who types a command, as others are told who wanted it."""

import getpass
import os


def ourselves() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())  # without a name in this container
    return f"{user}@{os.uname().nodename}"
