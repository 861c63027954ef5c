"""Publishes a large bundle to an emulator and counts the requests: `python tests/benchmarks/azure_publish.py [TABLES]`.

Prints one JSON line for each of: first publish, unchanged republish, one changed table.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

_TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(_TESTS), str(_TESTS / "integration")]

from integration.azure_stores import KEY_VARIABLE, Wire, open_on  # noqa: E402
from integration.test_publish_protocol import NOW  # noqa: E402
from servers.azurite import running_azurite  # noqa: E402
from unit.builders import make_catalog  # noqa: E402
from unit.publishing.bundles import make_inputs  # noqa: E402

from dictionary_pipeline.config.resolved import AZURE_PLAIN  # noqa: E402
from dictionary_pipeline.publishing.bundle import Bundle, build_bundle  # noqa: E402
from dictionary_pipeline.publishing.lease import hold_lease  # noqa: E402
from dictionary_pipeline.publishing.publish import publish  # noqa: E402


def make_large(folder: Path, tables: int, first_definition: str) -> Bundle:
    """A bundle with one entry for each table."""
    names = [f"s.t{number:05}" for number in range(tables)]
    catalog = make_catalog(tables={name: ["id int", "name text"] for name in names})
    texts = {name: (f"Table {name}.", "human") for name in names} | {names[0]: (first_definition, "human")}
    return build_bundle(folder, make_inputs(catalog, definitions=texts))


def main(tables: int) -> None:
    """Run the three publishes."""
    with tempfile.TemporaryDirectory() as scratch, running_azurite() as server:
        os.environ[KEY_VARIABLE] = server.connection_string
        container = server.create_container()
        before = make_large(Path(scratch, "before"), tables, "Before.")
        after = make_large(Path(scratch, "after"), tables, "After.")
        for step, bundle in (("first", before), ("unchanged", before), ("one changed table", after)):
            wire, memory, start = Wire(), _peak_mb(), time.monotonic()
            store = open_on(server, container, "large", transport=wire)
            with hold_lease(store, owner=step) as lease:
                report = publish(store, bundle, run_id=step, lease=lease, now=NOW, plain=AZURE_PLAIN)
            changes = report.changes
            line = {
                "publish": step,
                "tables": tables,
                "changed_files": len(changes.added) + len(changes.changed) + len(changes.removed),
                "requests": wire.requests,
                "lease_requests": wire.seen["lease"],
                "wall_s": round(time.monotonic() - start, 1),
                "peak_rss_grew_mb": round(_peak_mb() - memory, 1),
            }
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
