"""The logger of the SDK: level from LOG_LEVEL, secrets masked in every record."""

import logging

from agentic_rl_tui.core.models.redact import redact

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class _Masking(logging.Filter):
    """Renders the record and masks it, so that no handler ever sees a secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = redact(record.getMessage())
        record.args = None
        return True


logger = logging.getLogger("agentic_rl_tui.client")
# httpx and httpcore log addresses with their signatures and answers with their headers.
for _name in (logger.name, "httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy"):
    logging.getLogger(_name).addFilter(_Masking())
logging.getLogger("agentic_rl_tui").addHandler(logging.NullHandler())


def set_level(text: str | None) -> None:
    """Apply LOG_LEVEL. An unknown word means INFO and one warning, never a failure: other programs use the name too."""
    if not text:
        return
    level = text.strip().upper()
    if level in LEVELS:
        logger.setLevel(level)
        return
    if logger.level != logging.INFO:
        logger.setLevel(logging.INFO)
        logger.warning("LOG_LEVEL=%s is not one of %s; INFO is used", text, ", ".join(LEVELS))
