from typing import Any

from pydantic import BaseModel, ConfigDict


class WireModel(BaseModel):
    """An object as a server sent it: every field optional unless it identifies the object, unknown fields kept.

    Servers add fields without notice and leave out the ones they do not know, so parsing never fails for
    either; ``extra`` holds what this version has no name for.
    """

    model_config = ConfigDict(frozen=True, extra="allow", protected_namespaces=())

    @property
    def extra(self) -> dict[str, Any]:
        return dict(self.model_extra or {})
