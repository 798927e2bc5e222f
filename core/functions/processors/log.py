"""The logger that user code imports. A worker turns its records into log lines; elsewhere they go to stderr."""

import logging
import os

logger = logging.getLogger(os.environ.get("LOGGER_NAME") or "dashscope.finetune.reinforcement")


def _configure() -> None:
    level = os.environ.get("LOG_LEVEL", "INFO").strip().upper()
    logger.setLevel(level if isinstance(logging.getLevelName(level), int) else logging.INFO)
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s - %(name)s - %(levelname)s - %(message)s"))
        logger.addHandler(handler)
    logger.propagate = False


_configure()
