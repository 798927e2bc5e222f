"""Files on the service."""

from agentic_rl_tui.core.models.base import WireModel


class RemoteFile(WireModel):
    """size in bytes; md5 in lower-case hex; gmt_create as the server wrote it."""

    file_id: str
    name: str | None = None
    size: int | None = None
    md5: str | None = None
    description: str | None = None
    gmt_create: str | None = None
    url: str | None = None


class FilePage(WireModel):
    files: tuple[RemoteFile, ...] = ()
    page_no: int = 1
    page_size: int = 10
    total: int = 0


class FailedUpload(WireModel):
    name: str | None = None
    code: str | None = None
    message: str | None = None
