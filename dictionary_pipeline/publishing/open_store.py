"""Opens the store of a database: a local folder, or a container of Azure Blob Storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from dictionary_pipeline.config.resolved import AzurePlace, AzureTarget, PublishTarget
from dictionary_pipeline.errors import ConfigurationError
from dictionary_pipeline.publishing.local import LocalStore
from dictionary_pipeline.store import Store


def open_store(target: PublishTarget, folder: Path, name: str) -> Store:
    """The store of one configured database: `<place>/<name>/`; connects to nothing yet.

    Args:
        target: Where bundles go.
        folder: The project folder; a local target is relative to it.
        name: Name of the database.

    Raises:
        ConfigurationError: a variable with a credential is missing or unusable.
    """
    if target.azure is None:
        return LocalStore(folder / target.root / name)
    return open_azure(target.azure, name)


def open_azure(target: AzureTarget, name: str = "", **options: Any) -> Store:
    """The store in a container, with its parts that lie elsewhere.

    Args:
        name: Folder below each prefix; empty for the prefix itself.
        options: For the client library.

    Raises:
        ConfigurationError: a variable with a credential is missing or unusable.
    """
    # Only here: a local target needs none of the client library.
    from dictionary_pipeline.publishing.azure import AzureStore
    from dictionary_pipeline.publishing.azure_client import connect
    from dictionary_pipeline.publishing.routed import RoutedStore

    client, login = connect(target, **options)

    def store(place: AzurePlace) -> AzureStore:
        prefix = "/".join(part for part in (place.prefix, name) if part)
        return AzureStore(client, place.container, prefix, login)

    base = store(AzurePlace(target.container, target.prefix))
    places = {
        "schema_store": target.schema_store,
        "column_value_store": target.column_value_store,
        ".state": target.state,
    }
    routes = {folder: store(place) for folder, place in places.items() if place is not None}
    return RoutedStore(base, routes) if routes else base


def open_location(location: str | Path) -> Store:
    """The store at a folder or at the address of a container's folder, for reading.

    Args:
        location: Folder, or `https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX/DATABASE`, with a SAS token
            as its query if one is needed; otherwise AZURE_STORAGE_KEY, AZURE_STORAGE_SAS_TOKEN or Entra ID.

    Raises:
        ConfigurationError: the address names no container, or a credential cannot be used.
    """
    text = str(location)
    if not text.startswith(("https://", "http://")):
        return LocalStore(Path(location))
    from dictionary_pipeline.publishing.azure import AzureStore
    from dictionary_pipeline.publishing.azure_client import connect, connect_with_sas, environment_target

    parts = urlsplit(text)
    # An emulator has no host of its own for the account, so its name begins the path.
    host = parts.hostname or ""
    is_emulator = "." not in host or host.replace(".", "").isdigit()
    names = unquote(parts.path).strip("/").split("/")
    account, names = (names[:1], names[1:]) if is_emulator else ([], names)
    if not names or not names[0]:
        raise ConfigurationError(
            "the address names no container",
            where=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}",
            fix="Write https://ACCOUNT.blob.core.windows.net/CONTAINER/PREFIX/DATABASE.",
        )
    url = "/".join([f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", *account])
    target = environment_target(url, names[0], "/".join(names[1:]))
    client, login = connect_with_sas(target, parts.query) if parts.query else connect(target)
    return AzureStore(client, target.container, target.prefix, login)
