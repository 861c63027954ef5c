"""From what SQLAlchemy and drivers raise to the product's errors, by code and never by passing text on."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import exc

from dictionary_pipeline.errors import (
    AuthenticationFailed,
    ConfigurationError,
    ConnectionFailed,
    DictionaryError,
    PermissionDenied,
    QueryFailed,
    QueryTimeout,
)

_PACKAGES: Mapping[str, str] = {
    "mysql+pymysql": "pymysql",
    "mysql+mysqldb": "mysqlclient",
    "mysql+mysqlconnector": "mysql-connector-python",
    "mariadb+pymysql": "pymysql",
    "mariadb+mariadbconnector": "mariadb",
    "oracle": "oracledb",
    "oracle+oracledb": "oracledb",
    "mssql+mssqlpython": "mssql-python",
    "mssql+pymssql": "pymssql",
    "mssql+pyodbc": "pyodbc",
    "postgresql": "psycopg[binary]",
    "postgresql+psycopg": "psycopg[binary]",
    "postgresql+psycopg2": "psycopg2-binary",
    "postgresql+pg8000": "pg8000",
    "snowflake": "snowflake-sqlalchemy",
    "databricks": "databricks-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery",
    "redshift": "sqlalchemy-redshift",
    "redshift+redshift_connector": "sqlalchemy-redshift",
    "trino": "trino[sqlalchemy]",
    "clickhouse": "clickhouse-sqlalchemy",
    "clickhousedb": "clickhouse-connect",
    "teradatasql": "teradatasqlalchemy",
    "hana": "sqlalchemy-hana",
    "db2": "ibm-db-sa",
    "ibm_db_sa": "ibm-db-sa",
    "cockroachdb": "sqlalchemy-cockroachdb",
    "firebird": "sqlalchemy-firebird",
}

# SQLSTATEs (ISO/IEC 9075, PostgreSQL appendix A) and vendor numbers of MySQL, SQL Server, Oracle and SQLite.
_AUTHENTICATION = frozenset({"28000", "28P01", "1045", "1044", "1698", "18456", "4060", "1017", "28009"})
_PERMISSION = frozenset({"42501", "1142", "1143", "1227", "229", "230", "1031", "3", "23"})
_CONNECTION = frozenset({"2002", "2003", "2005", "2006", "2013", "1040", "12154", "12170", "12514", "12541", "20009"})
_TIMEOUT = frozenset({"57014", "3024", "1969", "1013", "9", "5", "6", "1205"})


def missing_driver(drivername: str, where: str | None) -> ConfigurationError:
    """The error for a dialect or driver that is not installed, with the package to install."""
    package = _PACKAGES.get(drivername) or _PACKAGES.get(drivername.partition("+")[0])
    fix = (
        f"Install it: `pip install {package}`."
        if package
        else "Install the package that adds this dialect to SQLAlchemy, or correct the part of the URL before `://`."
    )
    return ConfigurationError(f"the driver for `{drivername}` is not installed", where=where, fix=fix)


def timed_out(seconds: float | None) -> QueryTimeout:
    """The error for a statement that was stopped after its budget."""
    took = "its time budget" if seconds is None else f"{seconds:g} s"
    return QueryTimeout(
        f"the statement took longer than {took}", fix="Raise the time budget per table, or exclude the object."
    )


def driver_error(error: BaseException, *, where: str, connecting: bool = False) -> DictionaryError:
    """The product's error for a failure of the dialect or driver."""
    code = error_code(error)
    kind = code or ""
    if kind in _AUTHENTICATION or (connecting and _speaks_of_authentication(error)):
        return AuthenticationFailed(
            "the server refused the user name or password",
            where=where,
            fix="Correct them; this is not tried again, so that the account is not locked.",
            code=code,
        )
    if connecting or kind in _CONNECTION or kind.startswith(("08", "57P")) or _is_disconnect(error):
        return ConnectionFailed(
            "the database could not be reached",
            where=where,
            fix="Check host, port, database name and network; then run again.",
            code=code,
        )
    if kind in _PERMISSION:
        return PermissionDenied(
            "the account may not read it",
            fix="GRANT SELECT on it to the account that describes the database.",
            code=code,
        )
    if kind in _TIMEOUT:
        return QueryTimeout(
            "the statement ran into a time limit or a lock", fix="Run again later, or exclude the object.", code=code
        )
    return QueryFailed(
        "the database could not run the statement", fix="Try to SELECT from the object, or exclude it.", code=code
    )


def error_code(error: BaseException) -> str | None:
    """SQLSTATE or vendor number of a driver's exception, null when it has none."""
    orig = getattr(error, "orig", None)
    if orig is None:
        return None
    for attribute in ("sqlstate", "pgcode"):
        if isinstance(value := getattr(orig, attribute, None), str):
            return value
    if isinstance(value := getattr(orig, "sqlite_errorcode", None), int):
        return str(value & 0xFF)
    first = orig.args[0] if getattr(orig, "args", ()) else None
    number = first if isinstance(first, int) else getattr(first, "code", None)
    return str(number) if isinstance(number, int) else None


def _is_disconnect(error: BaseException) -> bool:
    return isinstance(error, exc.DBAPIError) and error.connection_invalidated


def _speaks_of_authentication(error: BaseException) -> bool:
    """PostgreSQL drivers give no SQLSTATE for a failed login."""
    text = str(getattr(error, "orig", "")).lower()
    return "authentication failed" in text or "login failed" in text or "access denied" in text
