"""The SQLAlchemy fall-back: URLs, secrets, missing drivers."""

from __future__ import annotations

import importlib.util
import traceback
from typing import Any

import pytest

from dictionary_pipeline.config.resolved import ConnectionSpec, Secret
from dictionary_pipeline.engines.generic import GenericEngine
from dictionary_pipeline.engines.generic_url import connection_url, with_secrets
from dictionary_pipeline.errors import ConfigurationError

CANARY = "canary-4711"


def spec(
    url: str | None = None, kind: str = "generic", secrets: dict[str, Secret] | None = None, **options: Any
) -> Any:
    given = {"url": url} if url is not None else {}
    return ConnectionSpec(kind, {**given, **options}, secrets or {}, "profiles.yml:7")


@pytest.mark.parametrize("url", ["", "no url", "postgresql+psycopg://h:port/db"])
def test_a_url_that_cannot_be_read_is_a_configuration_error_that_does_not_repeat_it(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        GenericEngine(spec(url))
    assert str(caught.value).startswith("profiles.yml:7: ")
    assert not url or url not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("url", "module", "package"),
    [
        ("mysql://u@h/d", "pymysql", "pymysql"),
        ("mysql+mysqldb://u@h/d", "MySQLdb", "mysqlclient"),
        ("oracle://u@h/d", "oracledb", "oracledb"),
        ("mssql://u@h/d", "mssql_python", "mssql-python"),
        ("mssql+pymssql://u@h/d", "pymssql", "pymssql"),
        ("trino://u@h/d", "trino", "trino[sqlalchemy]"),
    ],
)
def test_a_missing_driver_names_the_package_to_install(url: str, module: str, package: str) -> None:
    if importlib.util.find_spec(module):
        pytest.skip(f"{module} is installed here")
    with pytest.raises(ConfigurationError, match="not installed") as caught:
        GenericEngine(spec(url)).connect()
    assert f"pip install {package}`" in str(caught.value)


def test_an_unknown_dialect_points_at_the_url() -> None:
    with pytest.raises(ConfigurationError, match="`nosuch`"):
        GenericEngine(spec("nosuch://h/d"))


def test_secrets_join_the_url_only_when_connecting() -> None:
    given = spec(
        "postgresql+psycopg://u@h/d?application_name=x",
        secrets={"password": Secret.literal(CANARY + "@/"), "sslpassword": Secret.literal("also")},
    )
    engine = GenericEngine(given)
    assert CANARY not in repr(vars(engine)) and CANARY not in str(connection_url(given))
    url = with_secrets(connection_url(given), given)
    assert (url.password, url.query["sslpassword"], url.query["application_name"]) == (CANARY + "@/", "also", "x")


def test_a_missing_secret_is_a_configuration_error() -> None:
    def unset() -> str:
        raise ConfigurationError("the environment variable SHOP_PASSWORD is not set")

    with pytest.raises(ConfigurationError, match="SHOP_PASSWORD"):
        GenericEngine(spec("postgresql+psycopg://u@h/d", secrets={"password": Secret(unset)})).connect()


def test_types_without_a_module_make_their_url_of_options() -> None:
    mysql = spec(None, "mysql", user="u", host="h", port=3307, database="shop", ssl_disabled=True)
    assert str(connection_url(mysql)) == "mysql+pymysql://u@h:3307/shop?ssl_disabled=true"
    server = spec(None, "sqlserver", user="u", server="h", database="shop", encrypt=True, trust_cert=False)
    assert str(connection_url(server)) == ("mssql+mssqlpython://u@h/shop?Encrypt=yes&TrustServerCertificate=no")


def test_a_type_that_needs_a_url_says_so() -> None:
    with pytest.raises(ConfigurationError, match="`url:`"):
        GenericEngine(spec(None, "snowflake", account="a", database="d"))
