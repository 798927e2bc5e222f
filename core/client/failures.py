"""From what httpx raises to the errors a user reads."""

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import ArlError, BadResponse, InputError, TimedOut, Unreachable


def from_httpx(
    error: Exception, request: httpx.Request, *, limit_s: float | None, connect_s: float, proxy: str | None = None
) -> ArlError:
    """Translate a transport failure. limit_s is the limit that was in force; proxy is the one on the way, if any."""
    method, path = request.method, request.url.path
    place = _place(request.url)
    if proxy is not None and isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
        place = _("the proxy {proxy} (from HTTPS_PROXY, HTTP_PROXY or ALL_PROXY)").format(proxy=proxy)
    match error:
        case httpx.ConnectTimeout():
            return TimedOut(
                _("no connection to {place} within {connect_s:g} s").format(place=place, connect_s=connect_s),
                advice=_("Check the network, the base URL and the proxy settings."),
                method=method,
                path=path,
            )
        case httpx.PoolTimeout():
            return TimedOut(
                _("no free connection to {place} within the limit").format(place=place), method=method, path=path
            )
        case httpx.ReadTimeout() | httpx.WriteTimeout() | TimeoutError():
            return timed_out(method, path, place, limit_s)
        case httpx.ProxyError():
            return Unreachable(
                _("the proxy refused the connection to {place}: {error}").format(place=place, error=error),
                advice=_("Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY."),
                method=method,
                path=path,
            )
        case httpx.ConnectError():
            return _no_connection(error, method, path, place)
        case httpx.DecodingError():
            return _unknown(
                BadResponse(
                    _("the answer of {place} has a broken compression: {error}").format(place=place, error=error),
                    method=method,
                    path=path,
                )
            )
        case httpx.RemoteProtocolError() if "complete message body" in str(error):
            return _unknown(
                BadResponse(_("the answer of {place} was cut off").format(place=place), method=method, path=path)
            )
        case httpx.RemoteProtocolError() if "illegal" in str(error) or "malformed" in str(error):
            return _unknown(
                BadResponse(
                    _("{place} does not speak HTTP: {error}").format(place=place, error=error), method=method, path=path
                )
            )
        case httpx.TransportError() if not isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            return _unknown(
                Unreachable(
                    _("the connection to {place} was lost before the answer came").format(place=place),
                    advice=_("Check the network, then try again."),
                    method=method,
                    path=path,
                )
            )
        case _:
            return InputError(_("the request cannot be sent: {error}").format(error=error), method=method, path=path)


def timed_out(method: str, path: str, place: str, limit_s: float | None) -> TimedOut:
    limit = _("{seconds:g} s").format(seconds=limit_s) if limit_s is not None else _("the limit")
    error = TimedOut(
        _("{place} gave no answer within {limit}").format(place=place, limit=limit), method=method, path=path
    )
    error.outcome_unknown = True
    return error


def _unknown(error: ArlError) -> ArlError:
    error.outcome_unknown = True
    return error


def _no_connection(error: Exception, method: str, path: str, place: str) -> ArlError:
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return Unreachable(
                    _("the certificate of {place} cannot be verified: {verify_message}").format(
                        place=place, verify_message=cause.verify_message
                    ),
                    advice=_("Behind a company proxy set SSL_CERT_FILE to its CA bundle."),
                    method=method,
                    path=path,
                )
            case ssl.SSLError():
                return Unreachable(
                    _("no TLS connection to {place}: {reason}").format(place=place, reason=cause.reason or cause),
                    advice=_("Check that the base URL's scheme (http or https) and port are right."),
                    method=method,
                    path=path,
                )
            case socket.gaierror():
                return Unreachable(
                    _("the name of {place} cannot be resolved: {strerror}").format(
                        place=place, strerror=cause.strerror
                    ),
                    advice=_("Check the host in the base URL, the network and the name servers."),
                    method=method,
                    path=path,
                )
            case ConnectionRefusedError():
                return Unreachable(
                    _("nothing answers at {place}: connection refused").format(place=place), method=method, path=path
                )
            case FileNotFoundError() | PermissionError():
                return Unreachable(
                    _("{place} cannot be reached: {strerror}").format(place=place, strerror=cause.strerror),
                    method=method,
                    path=path,
                )
    return Unreachable(
        _("no connection to {place}: {error}").format(place=place, error=error or type(error).__name__),
        method=method,
        path=path,
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Everything behind `error`: causes, contexts and members of groups, nearest first."""
    queue: list[BaseException] = [error]
    seen: set[int] = set()
    while queue:
        current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        if isinstance(current, BaseExceptionGroup):
            queue += current.exceptions
        queue += [behind for behind in (current.__cause__, current.__context__) if behind is not None]


def proxy_for(url: httpx.URL) -> str | None:
    """Host and port of the proxy that the environment names for a URL, without its user and password."""
    found = getproxies()
    text = found.get(url.scheme) or found.get("all")
    if not text or proxy_bypass(url.host):
        return None
    return urlsplit(text if "://" in text else f"http://{text}").netloc.rpartition("@")[2]


def _place(url: httpx.URL) -> str:
    if url.host == "platform.local":
        return _("the local platform")
    return f"{url.host}:{url.port}" if url.port else url.host
