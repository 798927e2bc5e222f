"""The one hierarchy of errors that the SDK and the platform raise.

`number` is the error number of the user guide where the guide has one (1000 general, 1100 input, 1300 connection, …).
Classes exist where callers branch; everything else is told by the fields.
"""

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.models.redact import redact


class ArlError(Exception):
    """Something went wrong that a user can understand.

    message: one sentence, secrets masked. advice: one sentence that says what to do, which a traceback shows too.
    status is the HTTP status, code and request_id are the service's own words.
    """

    number: int = 1000
    default_advice: str = ""
    retryable: bool = False
    _advice: str = ""
    outcome_unknown: bool = False
    """The request may have taken effect although this error is all that came back."""
    retry_after_s: float | None = None
    """How long the server asked to be left alone."""

    def __init__(
        self,
        message: str,
        *,
        advice: str | None = None,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        method: str | None = None,
        path: str | None = None,
        number: int | None = None,
    ) -> None:
        self.message = redact(message)
        self.advice = redact(_(self.default_advice) if advice is None else advice)
        self.status = status
        self.code = code
        self.request_id = request_id
        self.method = method
        self.path = redact(path) if path else path
        if number is not None:
            self.number = number
        super().__init__(self.message)

    @property
    def advice(self) -> str:
        return self._advice

    @advice.setter
    def advice(self, sentence: str) -> None:
        """Also a note of the exception: whoever catches nothing reads it under the traceback."""
        others = [note for note in getattr(self, "__notes__", ()) if note != self._advice]
        self._advice = sentence
        self.__notes__ = [sentence, *others] if sentence else others

    def __str__(self) -> str:
        """The message with what support needs: code, HTTP status, request and its id."""
        facts = [
            self.code,
            f"HTTP {self.status}" if self.status else None,
            f"{self.method} {self.path}" if self.path else None,
            f"request {self.request_id}" if self.request_id else None,
        ]
        known = ", ".join(fact for fact in facts if fact)
        return f"[{self.number}] {self.message}" + (f" ({known})" if known else "")


class InputError(ArlError):
    """What the caller gave cannot be used."""

    number = 1100


class ConfigError(InputError):
    """A settings or job file cannot be used. `diagnostics` holds every problem where there are several."""

    number = 1510

    def __init__(self, message: str, *, diagnostics: tuple[object, ...] = (), **facts: object) -> None:
        super().__init__(message, **facts)  # type: ignore[arg-type]
        self.diagnostics = diagnostics


class NoKey(InputError):
    number = 1510
    default_advice = N_("Set DASHSCOPE_API_KEY, pass --api-key, or use the local platform with --profile local.")


class AuthError(ArlError):
    """401: the key is missing, wrong, or belongs to another region's endpoint."""

    number = 1700
    default_advice = N_("Check that the API key is valid and belongs to the same region as the base URL.")


class AccessDenied(ArlError):
    """403."""

    number = 1700
    default_advice = N_("Ask the workspace's owner for access, or switch the feature on for this account.")


class NotFound(ArlError):
    """404."""

    number = 4001
    default_advice = N_("Check the id, and that the profile and workspace are the ones it was made in.")


class Conflict(ArlError):
    """409, or 400 UnsupportedOperation: the object's state forbids it."""

    number = 4001
    default_advice = N_("Refresh the object's state and try again.")


class Rejected(ArlError):
    """400 and 422: the service did not accept the request."""

    number = 1500
    default_advice = N_("Correct the value that the message names.")


class RateLimited(ArlError):
    """429. retry_after_s is the server's wish, None where it said nothing."""

    number = 4001
    default_advice = N_("Wait, or stop other jobs: the service allows few at once.")
    retryable = True

    def __init__(self, message: str, *, retry_after_s: float | None = None, **facts: object) -> None:
        super().__init__(message, **facts)  # type: ignore[arg-type]
        self.retry_after_s = retry_after_s


class ServerError(ArlError):
    """5xx."""

    number = 4002
    default_advice = N_("The service had a fault; try again later and quote the request id if it stays.")
    retryable = True


class BadResponse(ArlError):
    """An answer that cannot be read: not JSON, a proxy's HTML page, cut off, or without the field that matters."""

    number = 4004
    default_advice = N_("Check the base URL and any proxy on the way; the answer did not come from the service.")
    retryable = True


class Unreachable(ArlError):
    """No connection: name resolution, refused, TLS, proxy."""

    number = 1300
    default_advice = N_("Check the network, the base URL and the proxy settings.")
    retryable = True


class TimedOut(Unreachable):
    """The limit passed without an answer; whether the request took effect is not known."""

    number = 4003
    default_advice = N_("Try again, or raise the limit with HTTP_REQUEST_TIMEOUT (seconds).")


class UploadError(ArlError):
    """A file or package did not arrive. `uploaded` maps the names that did arrive to their ids."""

    number = 4031

    def __init__(self, message: str, *, uploaded: dict[str, str] | None = None, **facts: object) -> None:
        super().__init__(message, **facts)  # type: ignore[arg-type]
        self.uploaded = uploaded or {}


class PackageError(ArlError):
    """The function package cannot be built or is too large."""

    number = 2003


class DeploymentError(ArlError):
    """A layer, registration or load on the service failed."""

    number = 1400


class FunctionFailed(ArlError):
    """A user's function raised, timed out, died, or returned something unusable.

    traceback is cut to the user's frames; `kind` is the failing kind in one word (raised, timeout, died, …).
    """

    number = 2041

    def __init__(self, message: str, *, kind: str = "raised", traceback: str | None = None, **facts: object) -> None:
        super().__init__(message, **facts)  # type: ignore[arg-type]
        self.kind = kind
        self.traceback = traceback


class PlatformError(ArlError):
    """The local platform could not be started, reached or trusted."""

    number = 1300
    default_advice = N_("See `agentic-rl-tui platform status`; its log lies in the state directory.")
