"""Which partitions a registry tick adds, keeps and removes."""

from __future__ import annotations

from pathlib import Path

from dictionary_pipeline.config.resolved import ConnectionSpec, DatabaseConfig, InvalidDatabase, Project
from dictionary_pipeline.orchestration.sensors import RegistryCursor, plan_registry


def project(*valid: str, invalid: tuple[str, ...] = ()) -> Project:
    return Project(
        Path("p"),
        {name: DatabaseConfig(name, ConnectionSpec("sqlite")) for name in valid},
        tuple(InvalidDatabase(name, Path(f"{name}.yml"), f"{name}.yml:1: broken") for name in invalid),
    )


def test_a_new_file_becomes_a_partition() -> None:
    plan = plan_registry(project("a", "b"), {"a"}, RegistryCursor())
    assert plan.add == ("b",)
    assert plan.remove == ()


def test_a_file_must_be_absent_on_two_ticks_before_its_partition_goes() -> None:
    first = plan_registry(project("a"), {"a", "gone"}, RegistryCursor())
    assert first.remove == ()
    second = plan_registry(project("a"), {"a", "gone"}, RegistryCursor.parse(first.cursor.dump()))
    assert second.remove == ("gone",)
    assert second.cursor.absent == {}


def test_a_file_that_comes_back_in_time_keeps_its_partition() -> None:
    first = plan_registry(project("a"), {"a", "b"}, RegistryCursor())
    back = plan_registry(project("a", "b"), {"a", "b"}, first.cursor)
    later = plan_registry(project("a"), {"a", "b"}, back.cursor)
    assert later.remove == ()


def test_when_every_file_of_several_is_gone_at_once_no_partition_goes() -> None:
    cursor = RegistryCursor()
    for _ in range(4):
        plan = plan_registry(project(), {"a", "b", "c"}, cursor)
        cursor = plan.cursor
        assert plan.is_emptied
        assert plan.remove == ()
    back = plan_registry(project("a", "b"), {"a", "b", "c"}, cursor)
    assert back.remove == ("c",)


def test_an_invalid_file_keeps_its_partition_and_is_reported_once() -> None:
    first = plan_registry(project(invalid=("a",)), {"a"}, RegistryCursor())
    assert first.add == first.remove == ()
    assert first.newly_invalid == ("a",)
    second = plan_registry(project(invalid=("a",)), {"a"}, first.cursor)
    assert second.newly_invalid == ()
    assert second.remove == ()


def test_an_invalid_new_file_gets_no_partition() -> None:
    assert plan_registry(project(invalid=("new",)), set(), RegistryCursor()).add == ()
