"""Ids and tokens: how they are made and how they may look."""

import re
import secrets
import time
import uuid

_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,200}")


def is_plain(text: str) -> bool:
    """Whether a text may stand as an id in a path or a file name."""
    return _PLAIN.fullmatch(text) is not None


def new_job_id(now_s: float) -> str:
    """``ft-yyyyMMddHHmm-xxxx``; not unique by itself, since a minute has only 65,536 of them."""
    return f"ft-{time.strftime('%Y%m%d%H%M', time.localtime(now_s))}-{secrets.token_hex(2)}"


def new_id(prefix: str) -> str:
    return f"{prefix}-{uuid.uuid4()}"


def new_token() -> str:
    return f"tok-{secrets.token_hex(24)}"
