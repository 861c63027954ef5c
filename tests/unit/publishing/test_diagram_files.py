from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dictionary_pipeline.publishing.bundle import build_bundle
from dictionary_pipeline.publishing.verify import verify
from unit.publishing.bundles import shop


def test_diagrams_are_files_of_the_bundle(tmp_path: Path) -> None:
    inputs = replace(shop(), diagrams={"overview": b"<svg/>", "s.orders": b"<svg>2</svg>"})
    bundle = build_bundle(tmp_path, inputs)
    assert [path for path in bundle.files if path.startswith("diagrams/")] == [
        "diagrams/overview.svg",
        "diagrams/s.orders.svg",
    ]
    assert bundle.read("diagrams/s.orders.svg") == b"<svg>2</svg>"
    assert verify(bundle) == ()
