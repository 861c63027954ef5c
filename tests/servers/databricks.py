"""A server that speaks to the real Databricks connector: Thrift over HTTP on the connector's own service.

It proves the client's side: connecting, statements, decoding, retries, errors. It says nothing about what
Databricks itself would answer beyond what its documentation promises.
"""

from __future__ import annotations

import io
import json
import ssl
import threading
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import duckdb
import pyarrow as pa
from databricks.sql.thrift_api.TCLIService import TCLIService, ttypes
from sqlglot import exp
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.TTransport import TMemoryBuffer

from servers.databricks_catalog import command, information_schema
from servers.warehouse_model import Database, Fault, Faults, VendorError
from servers.warehouse_sql import Answer, Backend, Dialect

TOKEN, CLIENT_ID, CLIENT_SECRET = "dapi-test", "principal", "client-secret"
HTTP_PATH = "/sql/1.0/warehouses/abc"
SQL_BATCH = 100
"""Rows of an answer; the rest is fetched in further requests."""

_DONE = ttypes.TStatus(statusCode=ttypes.TStatusCode.SUCCESS_STATUS)
_TYPE_IDS = {
    pa.bool_(): ttypes.TTypeId.BOOLEAN_TYPE,
    pa.int64(): ttypes.TTypeId.BIGINT_TYPE,
    pa.float64(): ttypes.TTypeId.DOUBLE_TYPE,
}


def _translate(tree: exp.Expression) -> exp.Expression:
    def rewrite(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.JSONFormat):
            return exp.cast(node.this, "VARCHAR")
        if isinstance(node, exp.Func) and node.sql_name().upper() in ("ST_ASTEXT", "ST_AS_TEXT"):
            return node.this
        return node

    return tree.transform(rewrite)


DIALECT = Dialect(
    name="databricks",
    exact_case=False,
    translate=_translate,
    missing=lambda name: VendorError("TABLE_OR_VIEW_NOT_FOUND", "42P01", f"`{name}` cannot be found."),
    denied=lambda name: VendorError("INSUFFICIENT_PERMISSIONS", "42501", f"User does not have SELECT on {name}"),
)


class DatabricksServer:
    """A running double: `.port`, `.faults`, `.backend`, and the sessions' settings."""

    def __init__(self, databases: Sequence[Database], tls: ssl.SSLContext | None = None) -> None:
        self.backend = Backend(databases, DIALECT, information_schema)
        self.faults = Faults()
        self.sessions: dict[bytes, dict[str, str]] = {}
        self.running: dict[bytes, Operation] = {}
        self.tokens = {TOKEN}
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
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

    def run(self, sql: str, catalog: str) -> pa.Table:
        """Rows of a statement."""
        try:
            answer = command(sql, self.backend.databases) or self.backend.select(sql, catalog)
        except duckdb.Error as error:
            raise VendorError("PARSE_SYNTAX_ERROR", "42601", str(error)) from error
        return _table(answer)


class Operation:
    """A statement on its way: rows that are left, or the time when it is done."""

    def __init__(self, table: pa.Table | None, error: VendorError | None, ready_at: float) -> None:
        self.table, self.error, self.ready_at = table, error, ready_at
        self.sent = 0
        self.cancelled = threading.Event()


class Service:
    """The calls of TCLIService that the connector makes."""

    def __init__(self, server: DatabricksServer, fault: Fault | None) -> None:
        self._server = server
        self._fault = fault

    def OpenSession(self, request: Any) -> Any:  # noqa: N802
        handle = ttypes.THandleIdentifier(guid=uuid.uuid4().bytes, secret=b"s")
        namespace = request.initialNamespace
        settings = {"catalog": (namespace.catalogName if namespace else None) or "", **(request.configuration or {})}
        self._server.sessions[handle.guid] = settings
        return ttypes.TOpenSessionResp(
            status=_DONE,
            serverProtocolVersion=ttypes.TProtocolVersion.SPARK_CLI_SERVICE_PROTOCOL_V7,
            sessionHandle=ttypes.TSessionHandle(sessionId=handle),
            configuration={},
            initialNamespace=namespace,
            canUseMultipleCatalogs=True,
        )

    def CloseSession(self, request: Any) -> Any:  # noqa: N802
        self._server.sessions.pop(request.sessionHandle.sessionId.guid, None)
        return ttypes.TCloseSessionResp(status=_DONE)

    def ExecuteStatement(self, request: Any) -> Any:  # noqa: N802
        session = self._server.sessions.get(request.sessionHandle.sessionId.guid)
        if session is None:
            failed = ttypes.TStatus(ttypes.TStatusCode.INVALID_HANDLE_STATUS, errorMessage="[INVALID_HANDLE] gone")
            return ttypes.TExecuteStatementResp(status=failed)
        guid = uuid.uuid4().bytes
        handle = ttypes.TOperationHandle(
            operationId=ttypes.THandleIdentifier(guid=guid, secret=b"s"),
            operationType=ttypes.TOperationType.EXECUTE_STATEMENT,
            hasResultSet=True,
        )
        operation = self._start(request.statement, session)
        self._server.running[guid] = operation
        direct = None
        if operation.ready_at <= time.monotonic():
            direct = ttypes.TSparkDirectResults(operationStatus=_status(operation))
            if operation.error is None:
                direct.resultSetMetadata = _metadata(operation.table)
                direct.resultSet = _batch(operation)
        return ttypes.TExecuteStatementResp(status=_DONE, operationHandle=handle, directResults=direct)

    def _start(self, sql: str, session: dict[str, str]) -> Operation:
        fault, ready_at = self._fault, time.monotonic()
        if fault is not None and fault.kind == "slow":
            ready_at += fault.seconds
        try:
            if fault is not None and fault.kind == "error":
                raise VendorError(fault.code, fault.state, "injected; a value: hunter2")
            return Operation(self._server.run(sql, session["catalog"]), None, ready_at)
        except VendorError as error:
            return Operation(None, error, ready_at)

    def GetOperationStatus(self, request: Any) -> Any:  # noqa: N802
        operation = self._server.running[request.operationHandle.operationId.guid]
        operation.cancelled.wait(max(0.0, min(0.05, operation.ready_at - time.monotonic())))
        return _status(operation)

    def GetResultSetMetadata(self, request: Any) -> Any:  # noqa: N802
        operation = self._server.running[request.operationHandle.operationId.guid]
        if operation.cancelled.is_set() or operation.table is None:
            return ttypes.TGetResultSetMetadataResp(status=_cancelled())
        return _metadata(operation.table)

    def FetchResults(self, request: Any) -> Any:  # noqa: N802
        operation = self._server.running[request.operationHandle.operationId.guid]
        if operation.cancelled.is_set():
            return ttypes.TFetchResultsResp(status=_cancelled())
        return _batch(operation, with_metadata=True)

    def CancelOperation(self, request: Any) -> Any:  # noqa: N802
        self._server.running[request.operationHandle.operationId.guid].cancelled.set()
        return ttypes.TCancelOperationResp(status=_DONE)

    def CloseOperation(self, request: Any) -> Any:  # noqa: N802
        self._server.running.pop(request.operationHandle.operationId.guid, None)
        return ttypes.TCloseOperationResp(status=_DONE)


def _status(operation: Operation) -> Any:
    states = ttypes.TOperationState
    if operation.cancelled.is_set():
        return ttypes.TGetOperationStatusResp(status=_DONE, operationState=states.CANCELED_STATE)
    if operation.ready_at > time.monotonic():
        return ttypes.TGetOperationStatusResp(status=_DONE, operationState=states.RUNNING_STATE)
    if operation.error is not None:
        text = f"[{operation.error.code}] {operation.error.message} SQLSTATE: {operation.error.state}"
        return ttypes.TGetOperationStatusResp(
            status=_DONE,
            operationState=states.ERROR_STATE,
            sqlState=operation.error.state,
            errorMessage=text,
            displayMessage=text,
        )
    return ttypes.TGetOperationStatusResp(status=_DONE, operationState=states.FINISHED_STATE)


def _cancelled() -> Any:
    return ttypes.TStatus(ttypes.TStatusCode.ERROR_STATUS, errorMessage="[OPERATION_CANCELED] SQLSTATE: HY008")


def _metadata(table: pa.Table) -> Any:
    columns = [
        ttypes.TColumnDesc(
            columnName=field.name,
            position=place,
            typeDesc=ttypes.TTypeDesc(
                types=[
                    ttypes.TTypeEntry(
                        primitiveEntry=ttypes.TPrimitiveTypeEntry(
                            type=_TYPE_IDS.get(field.type, ttypes.TTypeId.STRING_TYPE)
                        )
                    )
                ]
            ),
        )
        for place, field in enumerate(table.schema, 1)
    ]
    return ttypes.TGetResultSetMetadataResp(
        status=_DONE,
        schema=ttypes.TTableSchema(columns=columns),
        resultFormat=ttypes.TSparkRowSetType.ARROW_BASED_SET,
        lz4Compressed=False,
        arrowSchema=table.schema.serialize().to_pybytes(),
    )


def _batch(operation: Operation, *, with_metadata: bool = False) -> Any:
    part = operation.table.slice(operation.sent, SQL_BATCH)
    operation.sent += part.num_rows
    sink = io.BytesIO()
    for batch in part.combine_chunks().to_batches():
        sink.write(batch.serialize().to_pybytes())
    batches = [ttypes.TSparkArrowBatch(batch=sink.getvalue(), rowCount=part.num_rows)] if part.num_rows else []
    return ttypes.TFetchResultsResp(
        status=_DONE,
        hasMoreRows=operation.sent < operation.table.num_rows,
        results=ttypes.TRowSet(startRowOffset=0, rows=[], arrowBatches=batches),
        resultSetMetadata=_metadata(operation.table) if with_metadata else None,
    )


def _table(answer: Answer) -> pa.Table:
    """Rows as Arrow; names may repeat."""
    arrays = [pa.array(_plain([row[place] for row in answer.rows])) for place in range(len(answer.names))]
    arrays = [array.cast(pa.string()) if pa.types.is_null(array.type) else array for array in arrays]
    return pa.Table.from_arrays(arrays, names=answer.names)


def _plain(values: list[Any]) -> list[Any]:
    known = (bool, int, float, str, type(None))
    return [value if isinstance(value, known) else str(value) for value in values]


def _handler(server: DatabricksServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path == "/oidc/v1/token":
                self._token(body)
                return
            if self.headers.get("Authorization", "").removeprefix("Bearer ") not in server.tokens:
                self._send(403, b"", {"x-databricks-reason-phrase": "Invalid access token."})
                return
            fault = server.faults.take(what) if (what := _subject(body)) else None
            if fault is not None and fault.kind == "http":
                retry = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
                self._send(fault.status, b"", retry)
                return
            reply = TMemoryBuffer()
            TCLIService.Processor(Service(server, fault)).process(
                TBinaryProtocol(TMemoryBuffer(body)), TBinaryProtocol(reply)
            )
            self._send(200, reply.getvalue(), {}, cut=fault is not None and fault.kind == "drop")

        def _token(self, body: bytes) -> None:
            import base64

            given = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
            if given != f"{CLIENT_ID}:{CLIENT_SECRET}" or b"grant_type=client_credentials" not in body:
                self._send(401, b'{"error": "invalid_client"}', {})
                return
            token = uuid.uuid4().hex
            server.tokens.add(token)
            self._send(200, json.dumps({"access_token": token, "expires_in": 3600}).encode(), {})

        def _send(self, status: int, content: bytes, headers: dict[str, str], *, cut: bool = False) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/x-thrift")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if cut else content)
            self.wfile.flush()
            self.close_connection = self.close_connection or cut

        def log_message(self, format: str, *arguments: Any) -> None:
            """Tests read `faults.statements` instead."""

    return Handler


def _subject(body: bytes) -> str | None:
    """The statement of a request, `LOGIN` when it opens a session."""
    protocol = TBinaryProtocol(TMemoryBuffer(body))
    name, _, _ = protocol.readMessageBegin()
    if name == "OpenSession":
        return "LOGIN"
    if name == "FetchResults":
        return "FETCH"
    if name != "ExecuteStatement":
        return None
    arguments = TCLIService.ExecuteStatement_args()
    arguments.read(protocol)
    return str(arguments.req.statement)


@contextmanager
def running_databricks(
    databases: Sequence[Database] = (), tls: ssl.SSLContext | None = None
) -> Iterator[DatabricksServer]:
    """Serve catalogs on a free local port."""
    server = DatabricksServer(databases, tls)
    try:
        yield server
    finally:
        server.stop()
