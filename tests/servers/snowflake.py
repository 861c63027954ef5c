"""A server that speaks to the real Snowflake connector: the HTTP protocol with answers in JSON.

It proves the client's side: connecting, statements, decoding, retries, errors. It says nothing about what
Snowflake itself would answer beyond what its documentation promises.
"""

from __future__ import annotations

import gzip
import json
import re
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import duckdb
from sqlglot import exp

from servers.snowflake_catalog import information_schema, show
from servers.warehouse_model import Database, Fault, Faults, VendorError
from servers.warehouse_sql import Answer, Backend, Dialect

USER, PASSWORD, TOKEN = "READER", "correct horse", "pat-token"
_FORMATS = {
    "YYYY-MM-DD": "%Y-%m-%d",
    "HH24:MI:SS.FF9": "%H:%M:%S.%n",
    "YYYY-MM-DD HH24:MI:SS.FF9": "%Y-%m-%d %H:%M:%S.%n",
}
_TIMEOUT = re.compile(r"ALTER SESSION SET STATEMENT_TIMEOUT_IN_SECONDS = (\d+)")


def _translate(tree: exp.Expression) -> exp.Expression:
    def rewrite(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.ToChar | exp.TimeToStr) and node.args.get("format") is not None:
            return _strftime(node.this, node.args["format"].name)
        if isinstance(node, exp.JSONFormat) or (isinstance(node, exp.Anonymous) and node.name.upper() == "TO_JSON"):
            value = node.this if isinstance(node, exp.JSONFormat) else node.expressions[0]
            return exp.cast(value.this if isinstance(value, exp.Cast) else value, "VARCHAR")
        if isinstance(node, exp.ConvertTimezone):
            return node.args["timestamp"]
        if isinstance(node, exp.Anonymous | exp.Func) and node.sql_name().upper() in ("ST_ASTEXT", "ST_AS_TEXT"):
            return node.this
        return node

    return tree.transform(rewrite)


def _strftime(value: exp.Expression, pattern: str) -> exp.Expression:
    # sqlglot has translated some patterns to Python's letters already.
    wanted = _FORMATS.get(pattern, pattern).replace("%f_nine", "%n")
    if "%Y" in wanted:
        return exp.func("STRFTIME", value, exp.Literal.string(wanted))
    day = exp.cast(exp.Literal.string("2000-01-01"), "DATE")
    return exp.func("STRFTIME", exp.Add(this=day, expression=value), exp.Literal.string(wanted))


DIALECT = Dialect(
    name="snowflake",
    exact_case=True,
    translate=_translate,
    missing=lambda name: VendorError("002003", "42S02", f"Object '{name}' does not exist or not authorized."),
    denied=lambda name: VendorError("003001", "42501", f"Insufficient privileges to operate on table '{name}'"),
)


class SnowflakeServer:
    """A running double: `.port`, `.faults`, `.backend`."""

    def __init__(self, databases: Sequence[Database]) -> None:
        self.backend = Backend(databases, DIALECT, information_schema)
        self.faults = Faults()
        self.sessions: dict[str, dict[str, Any]] = {}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.port = int(self._http.server_address[1])
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self.backend.close()

    def login(self, body: dict[str, Any], query: dict[str, str]) -> dict[str, Any]:
        """The answer to a login request."""
        data = body["data"]
        given = data.get("PASSWORD") or data.get("TOKEN")
        if data.get("LOGIN_NAME", "").upper() != USER or given not in (PASSWORD, TOKEN):
            return _failure(VendorError("390100", "08001", "Incorrect username or password was specified."))
        token = uuid.uuid4().hex
        name = query.get("databaseName", "")
        database = next((each for each in self.backend.databases if each in (name, name.upper())), None)
        warehouse = query.get("warehouse")
        parameters = data.get("SESSION_PARAMETERS", {})
        self.sessions[token] = {
            "database": database,
            "timeout": float(parameters.get("STATEMENT_TIMEOUT_IN_SECONDS", 172_800)),
            "parameters": parameters,
        }
        return _success(
            {
                "token": token,
                "masterToken": f"master-{token}",
                "validityInSeconds": 3600,
                "masterValidityInSeconds": 14_400,
                "sessionId": 4711,
                "displayUserName": USER,
                "serverVersion": "9.40.0",
                "healthCheckInterval": 45,
                "parameters": [{"name": "CLIENT_TELEMETRY_ENABLED", "value": False}],
                "sessionInfo": {
                    "databaseName": database,
                    "schemaName": None,
                    "warehouseName": warehouse and warehouse.upper(),
                    "roleName": "READER_ROLE",
                },
                "roleName": "READER_ROLE",
                "warehouseName": warehouse and warehouse.upper(),
                "databaseName": database,
            }
        )

    def query(self, sql: str, session: dict[str, Any], fault: Fault | None) -> dict[str, Any]:
        """The answer to a statement."""
        try:
            if fault is not None and fault.kind == "error":
                raise VendorError(fault.code, fault.state, "injected; a value: hunter2")
            if fault is not None and fault.kind == "slow":
                time.sleep(min(fault.seconds, session["timeout"]))
                if fault.seconds > session["timeout"]:
                    raise VendorError("000630", "57014", "Statement reached its statement or warehouse timeout")
            if timeout := _TIMEOUT.fullmatch(sql):
                session["timeout"] = float(timeout[1])
                return _rowset(Answer(["status"], [("Statement executed successfully.",)]))
            if sql.upper().startswith("SHOW "):
                return _rowset(show(sql, self.backend.databases))
            if session["database"] is None:
                raise VendorError("090105", "22000", "This session does not have a current database.")
            return _rowset(self.backend.select(sql, session["database"]))
        except VendorError as error:
            return _failure(error)
        except duckdb.Error as error:
            return _failure(VendorError("001003", "42000", f"SQL compilation error: {error}"))


def _handler(server: SnowflakeServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw or b"{}")
            url = urlsplit(self.path)
            query = {key: values[-1] for key, values in parse_qs(url.query).items()}
            if url.path == "/session/v1/login-request":
                fault = server.faults.take("LOGIN")
                if fault is not None and fault.kind == "error":
                    self._send(_failure(VendorError(fault.code, fault.state, "injected")))
                elif not self._broken(fault):
                    self._send(server.login(body, query))
            elif url.path == "/queries/v1/query-request":
                self._query(body)
            else:
                self._send(_success(None))

        def _query(self, body: dict[str, Any]) -> None:
            token = re.search(r'Token="([^"]+)"', self.headers.get("Authorization", ""))
            session = server.sessions.get(token[1] if token else "")
            if session is None:
                self._send(_failure(VendorError("390104", "08001", "Session no longer exists.")))
                return
            sql = body["sqlText"].strip()
            fault = server.faults.take(sql)
            if not self._broken(fault):
                self._send(server.query(sql, session, fault))

        def _broken(self, fault: Fault | None) -> bool:
            """Whether the answer was spoilt on its way."""
            if fault is not None and fault.kind == "http":
                self.send_response(fault.status)
                if fault.retry_after is not None:
                    self.send_header("Retry-After", str(fault.retry_after))
                self.send_header("Content-Length", "0")
                self.end_headers()
                return True
            if fault is not None and fault.kind == "drop":
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "100000")
                self.end_headers()
                self.wfile.write(b'{"data": {"rowset": [["1"],')
                self.close_connection = True
                return True
            return False

        def _send(self, answer: dict[str, Any]) -> None:
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Tests read `faults.statements` instead."""

    return Handler


def _success(data: Any) -> dict[str, Any]:
    return {"data": data, "message": None, "code": None, "success": True}


def _failure(error: VendorError) -> dict[str, Any]:
    data = {"errorCode": error.code, "sqlState": error.state, "queryId": str(uuid.uuid4()), "internalError": False}
    return {"data": data, "message": error.message, "code": error.code, "success": False}


def _rowset(answer: Answer) -> dict[str, Any]:
    kinds = [_kind([row[place] for row in answer.rows]) for place in range(len(answer.names))]
    return _success(
        {
            "parameters": [],
            "rowtype": [
                {"name": name, "type": kind, "nullable": True, "precision": 38, "scale": 0, "length": 16_777_216}
                for name, kind in zip(answer.names, kinds, strict=True)
            ],
            "rowset": [[_cell(cell) for cell in row] for row in answer.rows],
            "total": len(answer.rows),
            "returned": len(answer.rows),
            "queryId": str(uuid.uuid4()),
            "queryResultFormat": "json",
            "statementTypeId": 4096,
        }
    )


def _kind(values: Sequence[Any]) -> str:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, bool):
        return "boolean"
    if isinstance(first, int | Decimal):
        return "fixed"
    return "real" if isinstance(first, float) else "text"


def _cell(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return ("1" if value else "0") if isinstance(value, bool) else str(value)


@contextmanager
def running_snowflake(databases: Sequence[Database] = ()) -> Iterator[SnowflakeServer]:
    """Serve databases on a free local port."""
    server = SnowflakeServer(databases)
    try:
        yield server
    finally:
        server.stop()
