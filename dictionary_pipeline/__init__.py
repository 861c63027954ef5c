"""Data dictionaries and knowledge graphs of SQL databases, built and kept true."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dictionary_pipeline.publishing.reading import PublishedBundle

__all__ = ["__version__", "open_bundle"]
__version__ = "0.1.0"


def open_bundle(location: str | Path) -> PublishedBundle:
    """Open a published dictionary for reading.

    Args:
        location: Its folder, or `https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX/DATABASE`, with a SAS token
            as its query if one is needed; otherwise AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or Entra ID is used.

    Raises:
        ConfigurationError: there is no dictionary, or a credential cannot be used.
        StoreError: it cannot be read, or was written by a newer major version.
    """
    # Only here: importing the package stays quick.
    from dictionary_pipeline.publishing.reading import open_bundle as read_back

    return read_back(location)
