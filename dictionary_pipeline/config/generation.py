"""The model that `build -gen` asks."""

from __future__ import annotations

from pathlib import Path

from dictionary_pipeline.config.environment import load_env_file
from dictionary_pipeline.config.loader import read_project_file
from dictionary_pipeline.config.model_section import DatabaseModel, model_settings
from dictionary_pipeline.config.model_settings import ModelSettings
from dictionary_pipeline.config.predecessor_model import predecessor_model
from dictionary_pipeline.config.publish_section import publish_target
from dictionary_pipeline.config.resolved import PublishTarget


def chosen_model(folder: Path | None) -> ModelSettings:
    """The model of `project.yml`, else that of the predecessor's variables.

    Raises:
        ConfigurationError: there is neither, or `project.yml` is wrong; the text names what is missing.
    """
    if folder is None:
        load_env_file(Path.cwd())
        return predecessor_model()
    load_env_file(folder)
    return model_settings(read_project_file(folder).model, DatabaseModel()) or predecessor_model()


def project_target(folder: Path) -> PublishTarget:
    """Where a project publishes. Raises ConfigurationError when `project.yml` is wrong."""
    return publish_target(read_project_file(folder).publish)
