"""Allowed values from the catalog and from people."""

from __future__ import annotations

from typing import Any, Literal

from sampling_fakes import catalog_of

from dictionary_pipeline.config.resolved import HumanColumn, HumanKnowledge, HumanTable
from dictionary_pipeline.sampling.allowed import allowed_values


def human(column: str, values: tuple[Any, ...], origin: Literal["dbt", "human"] = "human") -> HumanKnowledge:
    words = HumanColumn(column, allowed_values=values, allowed_values_origin=origin)
    return HumanKnowledge(tables=(HumanTable("main", "t", columns=(words,)),))


def result(
    type_class: str,
    listed: tuple[list[str], str] | None,
    knowledge: HumanKnowledge = HumanKnowledge(),  # noqa: B008
) -> list[tuple[list[str], str]]:
    catalog = catalog_of({"t": {"c": type_class}}, allowed={("t", "c"): listed} if listed else None)
    return allowed_values(catalog, knowledge).select("allowed_values", "allowed_values_origin").rows()


def test_enum_labels_keep_their_order_and_others_are_sorted() -> None:
    assert result("string", (["small", "big", "a"], "enum")) == [(['"small"', '"big"', '"a"'], "enum")]
    assert result("string", (["small", "big"], "check")) == [(['"big"', '"small"'], "check")]
    assert result("integer", (["10", "9"], "check")) == [(["9", "10"], "check")]
    assert result("boolean", (["true", "false"], "boolean")) == [(["false", "true"], "boolean")]


def test_a_persons_word_wins_over_the_catalog_and_keeps_its_origin() -> None:
    listed = (["A", "B"], "check")
    assert result("string", listed, human("c", ("X",), "dbt")) == [(['"X"'], "dbt")]
    assert result("string", listed, human("c", ("Z", "Y"))) == [(['"Y"', '"Z"'], "human")]


def test_values_of_people_take_the_type_of_the_column() -> None:
    assert result("integer", None, human("c", ("2", 1, None))) == [(["1", "2"], "human")]
    assert result("string", None, human("c", (1, True))) == [(['"1"', '"true"'], "human")]
    assert result("boolean", None, human("c", (True, False))) == [(["false", "true"], "human")]


def test_a_set_with_a_text_too_long_to_list_is_not_claimed_to_be_complete() -> None:
    assert result("string", (["x" * 201, "a"], "check")) == []


def test_words_about_an_unknown_column_are_ignored() -> None:
    assert result("string", None, human("nowhere", ("X",))) == []
    assert result("string", None) == []
