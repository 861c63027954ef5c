"""Vectors of texts, by an embedding model on the server that the language model is on; kept by content."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from dictionary_pipeline import jsontext
from dictionary_pipeline.config.model_settings import ModelPrice, ModelSettings
from dictionary_pipeline.enrichment.model.budget import Budget, BudgetReached, Ledger, LedgerStore, Usage
from dictionary_pipeline.enrichment.model.cache import AnswerStore
from dictionary_pipeline.enrichment.model.client import as_failure, connected
from dictionary_pipeline.enrichment.model.texts import estimated_tokens
from dictionary_pipeline.errors import ConfigurationError, DictionaryError

FOLDER = ".state/embeddings"
_BATCH = 16
"""Texts of a request: the least that any deployment takes."""
_WHERE = "the embedding model"
Vector = list[float]


@dataclass
class Embedder:
    """Turns texts into vectors, within the limits of `model:`."""

    settings: ModelSettings
    """The server."""
    model: str
    dimensions: int
    price: float | None
    """Of a million tokens."""
    store: AnswerStore
    """Keeps the vectors."""
    ledger: LedgerStore
    """Keeps what is spent."""
    today: Callable[[], date]
    asked: int = 0
    """Requests so far."""
    stopped: str | None = None
    """Why no more is asked; null while nothing is wrong."""
    _budget: Budget = field(init=False)
    _sends_dimensions: bool = True

    def __post_init__(self) -> None:
        price = None if self.price is None else ModelPrice(self.price, 0.0)
        self._budget = Budget(self.settings.budget, price, Ledger(self.ledger, self.today))

    def key(self, text: str) -> str:
        """Names what a vector stands for: the text, and what made the vector of it."""
        return jsontext.digest([self.settings.provider, self.settings.base_url, self.model, self.dimensions, text])

    def embed(self, texts: Sequence[str]) -> Mapping[str, Vector]:
        """Vectors by text. Texts are missing when a limit is reached or the server fails; `stopped` says which.

        Raises:
            ConfigurationError: key, model, address or dimensions are wrong.
        """
        found = {text: vector for text in dict.fromkeys(texts) if (vector := self._kept(text)) is not None}
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        for start in range(0, len(missing), _BATCH):
            if self.stopped:
                break
            part = missing[start : start + _BATCH]
            for text, vector in zip(part, self._ask(part), strict=False):
                self.store.write(self._path(text), json.dumps({"key": self.key(text), "vector": vector}).encode())
                found[text] = vector
        return found

    def _ask(self, texts: Sequence[str]) -> list[Vector]:
        """One request; nothing when it must not or cannot be made."""
        try:
            reserved = self._budget.reserve(sum(map(estimated_tokens, texts)), 0)
        except BudgetReached as limit:
            self.stopped = f"the limit {limit.limit} of 'model:' is reached"
            return []
        used = Usage(1)
        try:
            vectors, tokens = self._request(texts)
            used = Usage(1, tokens)
        except ConfigurationError:
            raise
        except DictionaryError as error:
            self.stopped = error.what
            return []
        finally:
            self._budget.settle(reserved, used)
            self.asked += 1
        if any(len(vector) != self.dimensions for vector in vectors):
            raise ConfigurationError(
                f"{self.model} gives vectors of {len(vectors[0])} numbers, not {self.dimensions}",
                where=_WHERE,
                fix="Correct 'dimensions' under 'search: embedding:'.",
            )
        return vectors

    def _request(self, texts: Sequence[str]) -> tuple[list[Vector], int]:
        import openai

        client = connected(self.settings)
        failure: DictionaryError | None = None
        for with_dimensions in (True, False) if self._sends_dimensions else (False,):
            extra = {"dimensions": self.dimensions} if with_dimensions else {}
            try:
                answer = client.embeddings.create(
                    model=self.model, input=list(texts), encoding_format="float", extra_body=extra
                )
            except openai.BadRequestError as error:
                # Older models know no such parameter.
                self._sends_dimensions = False
                failure = as_failure(error, self.settings)
            except openai.OpenAIError as error:
                failure = as_failure(error, self.settings)
                break
            else:
                rows = sorted(answer.data, key=lambda row: row.index)
                return [list(row.embedding) for row in rows], answer.usage.total_tokens if answer.usage else 0
        # Raised outside the handler: the server's text can quote what it was sent.
        assert failure is not None
        raise failure

    def _kept(self, text: str) -> Vector | None:
        try:
            document = json.loads(self.store.read(self._path(text)) or b"{}")
            vector = document["vector"]
            is_whole = document["key"] == self.key(text) and len(vector) == self.dimensions
            return [float(number) for number in vector] if is_whole else None
        except (ValueError, KeyError, TypeError):  # unreadable state is lost state
            return None

    def _path(self, text: str) -> str:
        key = self.key(text)
        return f"{FOLDER}/{key[:2]}/{key}.json"
