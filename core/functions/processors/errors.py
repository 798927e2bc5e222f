"""Exceptions under the names that user code may raise or catch.

Each takes a message and ``error_code``; its text is ``[code] message (at time) (caused by: Type: text)``.
"""

from datetime import datetime
from typing import Any

Facts = tuple[tuple[str, Any], ...]


class _Coded(Exception):
    """Shared behaviour: default code, a prefix of the message, named facts as attributes.

    unset: facts of a base class that this one has but cannot be given.
    """

    default_code = 1000
    prefix = ""
    facts: Facts = ()
    unset: tuple[str, ...] = ()

    def __init__(self, message: str, error_code: int | None = None, *args: Any, **facts: Any) -> None:
        self.error_code = self.default_code if error_code is None else error_code
        self.message = f"{self.prefix}{message}"
        known = dict(self.facts)
        given = dict(zip(known, args, strict=False)) | facts
        unknown = [name for name in given if name not in known]
        if unknown or len(args) > len(known):
            raise TypeError(f"{type(self).__name__} got an unexpected argument {(unknown or list(args))[0]!r}")
        for name in self.unset:
            setattr(self, name, None)
        for name, default in known.items():
            setattr(self, name, given.get(name, default))
        super().__init__(self.message)

    @property
    def root_cause(self) -> BaseException | None:
        return self.__cause__ or self.__context__

    def _when(self) -> str:
        return ""

    def __str__(self) -> str:
        cause = self.root_cause
        because = f" (caused by: {type(cause).__name__}: {str(cause)[:100]})" if cause is not None else ""
        return f"[{self.error_code}] {self.message}{self._when()}{because}"


class AgenticRLError(_Coded):
    def __init__(self, message: str, error_code: int | None = None, *args: Any, **facts: Any) -> None:
        super().__init__(message, error_code, *args, **facts)
        self.timestamp = datetime.now().isoformat()  # noqa: DTZ005 - local time, as the vendor's errors tell it

    def _when(self) -> str:
        return f" (at {self.timestamp})"


class InputError(AgenticRLError):
    default_code = 1100
    facts: Facts = (("field", None),)


class OutputError(AgenticRLError):
    default_code = 1200
    facts: Facts = (("response", None),)


class BaseConnectionError(AgenticRLError):
    default_code = 1300
    facts: Facts = (("endpoint", None),)


class OSSConnectionError(BaseConnectionError):
    default_code = 1310
    prefix = "OSS connection failed: "


class OSSUploadError(BaseConnectionError):
    default_code = 1320
    prefix = "OSS upload failed: "
    facts: Facts = (("endpoint", None), ("bucket", None), ("object_key", None), ("file_size", None))


class DeploymentError(AgenticRLError):
    default_code = 1400
    facts: Facts = (("resource_id", None),)


class RegistrationError(DeploymentError):
    default_code = 1410
    prefix = "Registration failed: "


class _Deployed(DeploymentError):
    """A deployment error without a resource of its own."""

    facts: Facts = ()
    unset = ("resource_id",)


class FunctionLoadError(_Deployed):
    default_code = 1420
    prefix = "Function load failed: "
    facts: Facts = (("entity_id", None), ("error_log", None))


class InstanceWarmupError(_Deployed):
    default_code = 1430
    prefix = "Instance warmup failed: "
    facts: Facts = (("instance_url", None), ("timeout", 0.0), ("retry_after", None))


class InstanceQueryError(_Deployed):
    default_code = 1440
    prefix = "Instance query failed: "
    facts: Facts = (("instance_id", None), ("query_attempts", 1))


class FunctionLayerError(_Deployed):
    default_code = 1450
    prefix = "Function layer create failed: "
    facts: Facts = (("layer_name", None), ("error_log", None))


class DatasetsError(_Deployed):
    default_code = 1460
    prefix = "Datasets failed: "


class ValidationError(AgenticRLError):
    default_code = 1500
    prefix = "Validation failed: "
    facts: Facts = (("invalid_data", None), ("validation_rules", None))


class ConfigurationError(ValidationError):
    default_code = 1510
    facts: Facts = (("config_path", None),)
    unset = ("invalid_data", "validation_rules")


class BasePermissionError(AgenticRLError):
    default_code = 1700
    prefix = "Permission denied: "
    facts: Facts = (("operation", None), ("resource", None))


class IOErrorWithCode(AgenticRLError):
    default_code = 1800
    prefix = "I/O error: "
    facts: Facts = (("path", None), ("operation", None))


class RuntimeErrorWithCode(_Coded, RuntimeError):
    default_code = 0


class ValueErrorWithCode(_Coded, ValueError):
    default_code = 0
