"""Where the data lies and whose it is: from flags, then the environment, then defaults."""

from pathlib import Path
from typing import Any

import platformdirs
from pydantic import Field, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from talekeeper.domain.errors import InvalidInput
from talekeeper.domain.wording import wrong
from talekeeper.models.chat_model import Endpoint

__all__ = ["Config", "configured"]


def _default_database() -> str:
    return str(Path(platformdirs.user_data_dir("talekeeper", appauthor=False)) / "talekeeper.db")


class Config(BaseSettings):
    """``TALEKEEPER_DB`` and ``TALEKEEPER_ACCOUNT`` set these; a flag wins over them.

    ``db`` is a file path or a database URL, ``account`` the name of the account to work for.
    ``chat`` is the model that writes replies: ``TALEKEEPER_CHAT_BASE_URL``,
    ``TALEKEEPER_CHAT_MODEL``, and where they are needed ``…_KEY``, ``…_TIMEOUT`` (seconds) and
    ``…_HEADERS`` (a JSON object). ``summary`` is the one that writes summaries:
    ``TALEKEEPER_SUMMARY_BASE_URL`` and so on.
    """

    model_config = SettingsConfigDict(
        env_prefix="TALEKEEPER_",
        env_nested_delimiter="_",
        env_nested_max_split=1,
        frozen=True,
    )

    db: str = Field(default_factory=_default_database)
    account: str = "default"
    chat: Endpoint | None = None
    summary: Endpoint | None = None


def configured(**given: Any) -> Config:
    """The configuration with what was given as flags. InvalidInput names the variable at fault."""
    try:
        return Config(**given)
    except SettingsError as error:
        raise InvalidInput(
            "One of the variables TALEKEEPER_CHAT_… or TALEKEEPER_SUMMARY_… is no JSON where it "
            'should be: the headers are written as {"Name": "value"}.'
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        name = "_".join(str(part).upper() for part in ("talekeeper", *first["loc"]))
        wanted = "is missing" if first["type"] == "missing" else wrong(error).rstrip(".")
        raise InvalidInput(
            f"The variable {name} {wanted}. Set it, or unset those beside it."
        ) from (error)
