"""Calling GraphRAG on a folder, where nothing but this machine can be reached."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import polars as pl
from model_stub import ModelStub

COMMAND = Path(os.environ["DD_TEST_GRAPHRAG"]).absolute()
QUESTION = "How do orders relate to customers?"
_NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")


def graphrag(*arguments: str) -> str:
    """What the command prints; it must succeed."""
    environment = {**os.environ, **_NO_NETWORK, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        [str(COMMAND), *arguments],
        env={**environment, "GRAPHRAG_API_KEY": "stub"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def index(root: Path) -> None:
    """`graphrag index` as the published README calls it."""
    graphrag("index", "--root", str(root), "--skip-validation")


def query(root: Path, method: str) -> str:
    """`graphrag query`."""
    return graphrag("query", QUESTION, "--root", str(root), "--method", method)


def name_model(root: Path, model: ModelStub) -> None:
    """Add the address of the model to `settings.yaml`, as its comment says."""
    settings = (root / "settings.yaml").read_text()
    told = settings.replace("model_provider: openai\n", f"model_provider: openai\n    api_base: {model.url}\n")
    (root / "settings.yaml").write_text(told)


def only_communities(root: Path) -> None:
    """Leave out all that needs a model."""
    settings = root / "settings.yaml"
    lines = [
        "workflows: [create_communities]" if line.startswith("workflows:") else line
        for line in settings.read_text().splitlines()
    ]
    settings.write_text("\n".join(lines))


def table(root: Path, name: str) -> pl.DataFrame:
    """A table of the output folder."""
    return pl.read_parquet(root / "output" / f"{name}.parquet")
