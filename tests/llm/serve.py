"""Serve a GGUF model on the loopback interface: `python serve.py MODEL PORT ALIAS`. Ends with its standard input.

Runs in an environment of its own that has xllamacpp, llama.cpp's server with OpenAI's chat completions.
"""

from __future__ import annotations

import sys

import xllamacpp


def main(model: str, port: int, alias: str) -> None:
    """Serve until nobody holds the other end of standard input."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = {alias}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.offline = True
    params.ui = False
    params.n_ctx = 8192
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
