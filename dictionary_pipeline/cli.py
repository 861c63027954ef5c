"""The one place where the command line is wired: `data_dictionary`.

Exit codes: 0 complete, 1 failed (nothing published), 2 usage or configuration error, 3 published but
partial. Results go to stdout, progress, warnings and errors to stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from dictionary_pipeline import __version__
from dictionary_pipeline.errors import DictionaryError

PREDECESSOR_ENGINES = ("postgres", "snowflake", "databricks", "tsql", "sqlite")
_TYPER_INTERRUPTED = 130
_INTERRUPTED = "interrupted; nothing half-written was published"

app = typer.Typer(
    name="data_dictionary",
    help="Build data dictionaries and knowledge graphs of SQL databases, and keep them true.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print a summary for machines on stdout.")]
Names = Annotated[list[str] | None, typer.Argument(help="Databases to work on; all when none is named.")]
Globs = Annotated[list[str] | None, typer.Option(help="Glob, repeatable; exclusion wins.")]
Project = Annotated[Path | None, typer.Option("--project", help="Folder that holds dbt_like_configs/.")]


def _version(value: bool) -> None:
    if value:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print it.")] = False,
) -> None:
    """Options before the command."""


@app.command()
def run(
    names: Names = None,
    entity: Annotated[list[str] | None, typer.Option("--entity", help="Work on these tables only (glob).")] = None,
    force: Annotated[
        str, typer.Option("--force", help="Recompute kept results: samples, definitions, graph, all; comma-separated.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write nothing; list what would change.")] = False,
    changed_only: Annotated[
        bool, typer.Option("--changed-only", help="Keep samples of unchanged tables for a while.")
    ] = False,
    json: Json = False,
    project: Project = None,
) -> None:
    """Run the pipeline for databases configured under dbt_like_configs/."""
    from dictionary_pipeline.commands import run_configured
    from dictionary_pipeline.run import RunOptions

    forced = frozenset(part for part in force.split(",") if part)
    options = RunOptions(tuple(entity or ()), forced, dry_run, changed_only)
    raise typer.Exit(run_configured(names or [], options, as_json=json, project=project))


@app.command()
def build(
    target: Annotated[str, typer.Argument(help="URL, env:VAR, profile:NAME[.TARGET], a database file, or an engine.")],
    output: Annotated[Path, typer.Option("-o", "--output-directory", help="Becomes the bundle's root.")] = Path(),
    single_file: Annotated[
        bool, typer.Option("-s", "--single-file", "--single_file", help="One schema_store/entities.json.")
    ] = False,
    generate_definitions: Annotated[
        bool,
        typer.Option("-gen", "--generate-definitions", "--generate_definitions", help="Write definitions by a model."),
    ] = False,
    include_schema: Globs = None,
    exclude_schema: Globs = None,
    entities: Globs = None,
    exclude_entities: Globs = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the database in the bundle.")] = None,
    json: Json = False,
    project: Project = None,
) -> None:
    """Describe one database without configuration."""
    from dictionary_pipeline.commands import BuildRequest, build_once
    from dictionary_pipeline.config.resolved import Selection

    selection = Selection(
        tuple(include_schema or ()), tuple(exclude_schema or ()), tuple(entities or ()), tuple(exclude_entities or ())
    )
    request = BuildRequest(target, output, single_file, generate_definitions, selection, name, project)
    raise typer.Exit(build_once(request, as_json=json))


@app.command()
def validate(project: Project = None, json: Json = False) -> None:
    """Check dbt_like_configs/ without connecting."""
    from dictionary_pipeline.commands import validate_configuration

    raise typer.Exit(validate_configuration(project, as_json=json))


@app.command()
def plan(
    name: Annotated[str, typer.Argument(help="A configured database.")], project: Project = None, json: Json = False
) -> None:
    """Tell what a run would do; reads the catalog only."""
    from dictionary_pipeline.plan import show_plan

    raise typer.Exit(show_plan(name, project, as_json=json))


@app.command()
def show(
    location: Annotated[str, typer.Argument(help="Folder, Azure address or name of a configured database.")],
    entity: Annotated[str | None, typer.Argument(help="Table or view: FQN, schema.table or table.")] = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Show a published dictionary, or one entry of it."""
    from dictionary_pipeline.store_commands import show_bundle

    raise typer.Exit(show_bundle(location, entity, project, as_json=json))


@app.command()
def restore(
    name: Annotated[str, typer.Argument(help="A configured database.")],
    manifest: Annotated[str, typer.Argument(help="File in .manifests/, or the beginning of its name.")],
    project: Project = None,
) -> None:
    """Publish an archived manifest again."""
    from dictionary_pipeline.store_commands import restore_manifest

    raise typer.Exit(restore_manifest(name, manifest, project))


@app.command()
def gc(name: Annotated[str, typer.Argument(help="A configured database.")], project: Project = None) -> None:
    """Remove published content that no recent manifest needs."""
    from dictionary_pipeline.store_commands import collect_garbage

    raise typer.Exit(collect_garbage(name, project))


@app.command()
def diff(
    before: Annotated[str, typer.Argument(help="A bundle's folder, or a database as in `build`.")],
    after: Annotated[str, typer.Argument(help="What to compare it with.")],
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    project: Project = None,
) -> None:
    """Tell what differs: exit code 0 nothing, 4 only safe or cosmetic, 5 risky, 6 breaking."""
    from dictionary_pipeline.commands import show_differences

    raise typer.Exit(show_differences(before, after, project, as_json=json, as_markdown=markdown))


@app.command("merge-graph")
def merge_graph(
    names: Annotated[list[str], typer.Argument(help="Published databases: names, folders or Azure addresses.")],
    output_directory: Annotated[Path, typer.Option("--output-directory", "-o", help="Folder of the merged graph.")],
    project: Project = None,
) -> None:
    """Write one knowledge graph for several published databases."""
    from dictionary_pipeline.graph_commands import merge_published

    raise typer.Exit(merge_published(names, output_directory, project))


@app.command()
def status(project: Project = None, json: Json = False) -> None:
    """Tell how the dictionaries of all databases are doing; exit code 1 when any is stale."""
    from dictionary_pipeline.fleet_commands import show_status

    raise typer.Exit(show_status(project, as_json=json))


@app.command()
def retire(
    name: Annotated[str, typer.Argument(help="A database whose file was removed.")],
    delete: Annotated[bool, typer.Option("--delete", help="Delete its dictionary instead of keeping it.")] = False,
    sure: Annotated[bool, typer.Option("--yes", help="With --delete: really.")] = False,
    project: Project = None,
) -> None:
    """Mark the dictionary of a removed database as retired, or delete it."""
    from dictionary_pipeline.fleet_commands import retire_database

    raise typer.Exit(retire_database(name, project, delete=delete, sure=sure))


@app.command()
def drift(
    words: Annotated[list[str], typer.Argument(metavar="[ack] NAME [KEY...]", help="A configured database.")],
    since: Annotated[str | None, typer.Option("--since", help="Only what was detected from this date on.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="ack: every change that nobody acknowledged.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="ack: why the change is all right.")] = "",
    author: Annotated[str | None, typer.Option("--author", help="ack: who says so; you by default.")] = None,
    json: Json = False,
    project: Project = None,
) -> None:
    """List changes of a schema, or acknowledge some; exit codes as of `diff`, over what nobody acknowledged."""
    from dictionary_pipeline.drift_commands import drift as drift_command

    raise typer.Exit(
        drift_command(words, project, since=since, everything=everything, reason=reason, author=author, as_json=json)
    )


@app.command("push-search")
def push_search(
    names: Names = None,
    full: Annotated[bool, typer.Option("--full", help="Ask the indexes what they hold, and send everything.")] = False,
    json: Json = False,
    project: Project = None,
) -> None:
    """Push published dictionaries to Azure AI Search; sends only what changed."""
    from dictionary_pipeline.search_commands import push_named

    raise typer.Exit(push_named(names or [], project, full=full, as_json=json))


@app.command()
def review(
    name: Annotated[str, typer.Argument(help="A configured database.")], project: Project = None, json: Json = False
) -> None:
    """Accept, edit or reject texts that no person has written; lists them when there is no terminal."""
    from dictionary_pipeline.people_commands import review as go_through

    raise typer.Exit(go_through(name, project, as_json=json))


@app.command()
def approve(
    name: Annotated[str, typer.Argument(help="A configured database.")],
    entity: Annotated[str | None, typer.Argument(help="Table or schema.table (glob); all when none is named.")] = None,
    project: Project = None,
) -> None:
    """Make drafts people's words in the database's YAML file."""
    from dictionary_pipeline.people_commands import approve as approve_drafts

    raise typer.Exit(approve_drafts(name, entity, project))


@app.command("import")
def import_(
    path: Annotated[
        Path,
        typer.Argument(help="Schema store: its folder, the folder around it or a file; or a kept hand edit."),
    ],
    name: Annotated[str, typer.Argument(help="A configured database.")],
    project: Project = None,
) -> None:
    """Take over what people edited in another data dictionary's files."""
    from dictionary_pipeline.people_commands import import_legacy

    raise typer.Exit(import_legacy(path, name, project))


@app.command("alert-test")
def alert_test(
    channel: Annotated[str | None, typer.Argument(help="A channel of `alerts:`; all when none is named.")] = None,
    project: Project = None,
    json: Json = False,
) -> None:
    """Send a test message to the alert channels; exit code 1 when one is not delivered."""
    from dictionary_pipeline.alert_commands import test_channels

    raise typer.Exit(test_channels(channel, project, as_json=json))


@app.command()
def init(folder: Annotated[Path, typer.Argument(help="Folder to write dbt_like_configs/ into.")]) -> None:
    """Write a commented configuration to start from."""
    from dictionary_pipeline.commands import init_project

    raise typer.Exit(init_project(folder))


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the database: a-z, 0-9, _ and -.")],
    url: Annotated[str | None, typer.Option("--url", help="env:VAR that holds the URL.")] = None,
    profile: Annotated[str | None, typer.Option("--profile", help="Profile of profiles.yml.")] = None,
    project: Project = None,
) -> None:
    """Add a database, test its connection and tell which privileges are missing."""
    from dictionary_pipeline.commands import add_database

    raise typer.Exit(add_database(name, url, profile, project))


def expand_predecessor_spelling(arguments: list[str]) -> list[str]:
    """Turn `POSTGRES -o DIR` into `build POSTGRES -o DIR`, as the predecessor was called."""
    first = next((index for index, word in enumerate(arguments) if not word.startswith("-")), None)
    if first is not None and arguments[first].lower() in PREDECESSOR_ENGINES:
        return ["build", *arguments]
    return arguments


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    from dictionary_pipeline.interrupts import watch_interrupts
    from dictionary_pipeline.terminal import complain, prepare_streams
    from dictionary_pipeline.unexpected import unexpected

    prepare_streams()
    watch_interrupts()
    words = expand_predecessor_spelling(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(args=words, standalone_mode=True)
    except SystemExit as leave:
        if leave.code == _TYPER_INTERRUPTED:
            complain("error", _INTERRUPTED)
            sys.exit(1)
        raise
    except DictionaryError as error:
        complain("error", f"{error} ({error.identifier})")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        complain("error", _INTERRUPTED)
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - shown by its kind, as its text can quote values of the database
        complain("error", str(unexpected(error)))
        sys.exit(1)
    sys.exit(code or 0)
