"""Where the data lies and whose it is: from flags, then the environment, then defaults."""

from pathlib import Path

import platformdirs
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ["Config"]


def _default_database() -> str:
    return str(Path(platformdirs.user_data_dir("talekeeper", appauthor=False)) / "talekeeper.db")


class Config(BaseSettings):
    """``TALEKEEPER_DB`` and ``TALEKEEPER_ACCOUNT`` set these; a flag wins over them.

    ``db`` is a file path or a database URL, ``account`` the name of the account to work for.
    """

    model_config = SettingsConfigDict(env_prefix="TALEKEEPER_", frozen=True)

    db: str = Field(default_factory=_default_database)
    account: str = "default"
