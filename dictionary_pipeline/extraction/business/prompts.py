"""The prompts of this project, or the user's own, filled in; what of them an answer depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.graph_prompt import fill_in, template_fault
from dictionary_pipeline.config.graph_settings import AnswerFormat, GraphSettings
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.errors import ContractViolation
from dictionary_pipeline.extraction.model import BUSINESS_EDGE_TYPES

_EXTRACT: dict[AnswerFormat, str] = {"json": "entities_json_v1", "delimited": "entities_delimited_v1"}
CONTINUE, LOOP = "continue_v1", "loop_v1"


@dataclass(frozen=True)
class Prompts:
    """What the model is told beside the texts."""

    extract: str
    more: str
    """Asks for what an answer lacks."""
    loop: str
    """Asks whether anything is lacking, Y or N."""

    @property
    def hash(self) -> str:
        """Twelve hex digits, for evidence."""
        return jsontext.digest([self.extract, self.more, self.loop])[:12]


def prompts_of(settings: GraphSettings, model: ModelSettings) -> Prompts:
    """The prompts for one database.

    Raises:
        ContractViolation: a prompt file of the product is damaged.
    """
    template = settings.prompt or prompt_text(_EXTRACT[settings.format])
    fault = template_fault(template)
    if fault:
        raise ContractViolation(f"the extraction prompt {fault}", fix="Install the package again.")
    values = {
        "entity_types": ", ".join(settings.entity_types),
        "relationship_types": ", ".join(BUSINESS_EDGE_TYPES),
        "language": settings.language or model.language,
    }
    return Prompts(fill_in(template, values), prompt_text(CONTINUE), prompt_text(LOOP))


@cache
def prompt_text(name: str) -> str:
    """A prompt file of this project, by name and version."""
    return (files(__package__) / "prompts" / f"{name}.md").read_text(encoding="utf-8").strip()
