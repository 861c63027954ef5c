"""The connection types of a profile and their options, as data.

Names are those of dbt's own adapters, so that an existing `~/.dbt/profiles.yml` works. What dbt
knows and we do not need is in `ignored`: accepted, never evaluated, never passed on.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["text", "whole number", "yes or no", "mapping", "path"]


class Option(NamedTuple):
    """One option of a connection type."""

    key: str
    meaning: str
    kind: Kind = "text"
    required: bool = False
    aliases: tuple[str, ...] = ()
    secret: bool = False


class ConnectionType(NamedTuple):
    """What `type:` may say."""

    name: str
    """Engine name: `ConnectionSpec.type`."""
    meaning: str
    options: tuple[Option, ...]
    aliases: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    takes_any: bool = False
    """Every key is an option: the package that brings the engine knows them."""

    def find(self, key: str) -> Option | None:
        """The option that a key of the file means."""
        found = next((option for option in self.options if key == option.key or key in option.aliases), None)
        return Option(key, "", secret=is_secret_name(key)) if found is None and self.takes_any else found

    def names(self) -> tuple[str, ...]:
        """All keys that mean an option of this type."""
        return tuple(name for option in self.options for name in (option.key, *option.aliases))


SECRET_WORDS = ("password", "passwd", "pwd", "passphrase", "secret", "token", "passcode", "private_key", "api_key")


def is_secret_name(key: str) -> bool:
    """Whether a key of unknown meaning looks as if it held a secret."""
    lowered = key.lower()
    return lowered == "pass" or (
        any(word in lowered for word in SECRET_WORDS) and not lowered.endswith(("path", "file"))
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DBT_COMMON = _words("type threads retries connect_retries connect_timeout query_timeout retry_all schema database")
_USER = Option("user", "Account to log in with; read access to the catalog and the tables suffices.")
_PASSWORD = Option("password", "Its password.", aliases=("pass",), secret=True)
_HOST = Option("host", "Server name or address.", required=True)

TYPES: tuple[ConnectionType, ...] = (
    ConnectionType(
        "postgres",
        "PostgreSQL and servers that speak its protocol",
        (
            _HOST,
            Option("port", "Port, default 5432.", "whole number"),
            _USER._replace(required=True, aliases=("username",)),
            _PASSWORD,
            Option("dbname", "Database to describe.", required=True, aliases=("database",)),
            Option("role", "Role to switch to after login."),
            Option("sslmode", "`disable`, `prefer`, `require`, `verify-ca`, `verify-full`, ..."),
            Option("sslcert", "Client certificate file.", "path"),
            Option("sslkey", "Client key file.", "path"),
            Option("sslrootcert", "File of trusted certificates.", "path"),
            Option("connect_timeout", "Seconds to wait for the server, default 10.", "whole number"),
            Option("keepalives_idle", "Idle seconds before the first keep-alive, default 30.", "whole number"),
        ),
        aliases=("postgresql", "redshift"),
        ignored=_DBT_COMMON
        | _words(
            "search_path application_name method cluster_id iam_profile region autocreate autocommit"
            " db_groups ra3_node serverless_work_group serverless_acct_id is_serverless access_key_id"
            " secret_access_key sslpassword"
        ),
    ),
    ConnectionType(
        "snowflake",
        "Snowflake",
        (
            Option("account", "Account identifier, such as `org-account`.", required=True),
            _USER._replace(aliases=("username",)),
            _PASSWORD,
            Option("database", "Database to describe.", required=True),
            Option("warehouse", "Warehouse that runs the sampling statements."),
            Option("role", "Role to use."),
            Option("authenticator", "How to log in, e.g. `oauth` or `externalbrowser`."),
            Option("private_key", "Private key text for key-pair login.", secret=True),
            Option("private_key_path", "Private key file for key-pair login.", "path"),
            Option("private_key_passphrase", "Passphrase of the private key.", secret=True),
            Option("token", "OAuth or programmatic access token.", secret=True),
            Option("oauth_client_id", "OAuth client."),
            Option("oauth_client_secret", "OAuth client secret.", secret=True),
            Option("host", "Address when it is not derived from the account."),
            Option("port", "Port, default 443.", "whole number"),
            Option("protocol", "`https` or `http`."),
            Option("connect_args", "Further arguments of the driver's `connect`.", "mapping"),
        ),
        ignored=_DBT_COMMON
        | _words(
            "client_session_keep_alive query_tag retry_on_database_errors reuse_connections insecure_mode proxy_host"
            " proxy_port s3_stage_vpce_dns_name platform_detection_timeout_seconds job_execution_timeout_seconds"
        ),
    ),
    ConnectionType(
        "databricks",
        "Databricks SQL warehouse or cluster with Unity Catalog",
        (
            Option("host", "Server host name, without `https://`.", required=True, aliases=("server_hostname",)),
            Option("http_path", "HTTP path of the warehouse or cluster.", required=True),
            Option("catalog", "Catalog to describe.", required=True),
            Option("token", "Personal access token.", aliases=("access_token",), secret=True),
            Option("auth_type", "`oauth` for a service principal or a login in the browser."),
            Option("client_id", "OAuth client.", aliases=("azure_client_id",)),
            Option("client_secret", "OAuth client secret.", aliases=("azure_client_secret",), secret=True),
            Option(
                "connect_args",
                "Further arguments of the driver's `connect`.",
                "mapping",
                aliases=("connection_parameters",),
            ),
        ),
        ignored=_DBT_COMMON
        | _words(
            "session_properties compute connect_max_idle oauth_redirect_url oauth_scopes query_tags method driver"
        ),
    ),
    ConnectionType(
        "sqlserver",
        "SQL Server, Azure SQL, Synapse and Fabric warehouses",
        (
            Option("server", "Server name or address.", required=True, aliases=("host",)),
            Option("port", "Port, default 1433.", "whole number"),
            Option("database", "Database to describe.", required=True),
            _USER._replace(aliases=("username", "UID")),
            _PASSWORD._replace(aliases=("pass", "PWD")),
            Option("driver", "ODBC driver, for drivers that need one."),
            Option("authentication", "`sql`, `ActiveDirectoryDefault`, `ServicePrincipal`, ..."),
            Option("trusted_connection", "Windows login.", "yes or no", aliases=("windows_login",)),
            Option("encrypt", "Encrypt the connection.", "yes or no"),
            Option("trust_cert", "Accept the server's certificate unchecked.", "yes or no"),
            Option("tenant_id", "Entra tenant."),
            Option("client_id", "Entra application.", aliases=("app_id",)),
            Option("client_secret", "Entra application secret.", aliases=("app_secret",), secret=True),
        ),
        aliases=("mssql", "tsql", "synapse", "fabric"),
        ignored=_DBT_COMMON | _words("login_timeout schema_authorization workspace_id lakehouse access_token"),
    ),
    ConnectionType(
        "mysql",
        "MySQL and MariaDB",
        (
            _HOST._replace(aliases=("server",)),
            Option("port", "Port, default 3306.", "whole number"),
            _USER._replace(required=True, aliases=("username",)),
            _PASSWORD,
            Option("database", "Database to describe.", required=True, aliases=("schema", "dbname")),
            Option("ssl_disabled", "Do not use TLS.", "yes or no"),
        ),
        aliases=("mysql5", "mariadb"),
        ignored=_DBT_COMMON - {"database", "schema"}
        | _words("charset collation use_pure ssl_ca ssl_cert ssl_key auth_plugin"),
    ),
    ConnectionType(
        "duckdb",
        "DuckDB file",
        (Option("path", "Database file; relative to the project folder.", "path", required=True),),
        ignored=_DBT_COMMON
        | _words(
            "extensions settings secrets attach plugins filesystems config_options module_paths external_root"
            " use_credential_provider keep_open disable_transactions remote is_ducklake interactive_shell"
        ),
    ),
    ConnectionType(
        "sqlite",
        "SQLite file",
        (Option("path", "Database file; relative to the project folder.", "path", required=True),),
        ignored=_DBT_COMMON | _words("schemas_and_paths schema_directory extensions"),
    ),
    ConnectionType(
        "generic",
        "Any database that SQLAlchemy speaks, by its URL",
        (
            Option("url", "SQLAlchemy URL. Alone it is enough: `type` then follows from it.", required=True),
            _PASSWORD._replace(aliases=()),
        ),
        aliases=("sqlalchemy",),
        ignored=_DBT_COMMON,
    ),
)

BY_NAME: dict[str, ConnectionType] = {name: kind for kind in TYPES for name in (kind.name, *kind.aliases)}
"""Every spelling of `type:`."""
