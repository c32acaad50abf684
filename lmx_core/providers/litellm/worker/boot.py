"""Where the worker begins: run by path, in isolated mode, with nothing on its command line and no secret in its environment.

Only the standard library until the first frame has told where packages are: isolated mode leaves out `PYTHONPATH` and the
working directory, from which a checkout's `litellm.py` could load (C7-11). What libraries print goes to stderr; stdout is the
pipe.
"""

import json
import os
import sys


def _path(source: int) -> list[str]:
    """The first frame: the parent's module search path. Read to its last byte and no further."""
    size = int.from_bytes(_exactly(source, 4), "big")
    path: list[str] = json.loads(_exactly(source, size))["path"]
    return path


def _exactly(source: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        block = os.read(source, size - len(data))
        if not block:
            os._exit(0)  # the parent is gone
        data += block
    return data


def main() -> None:
    source, sink = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    sys.path[:] = _path(source)
    from lmx_core.providers.litellm.worker.serve import serve

    serve(source, sink)


if __name__ == "__main__":
    main()
