"""HTTP as pip is configured to do it, with failures as sentences. No address is shown with its credentials."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit, urlunsplit

from preflight.errors import FetchError
from preflight.tree.pipconfig import PipConfig

if TYPE_CHECKING:
    import requests

OFFLINE = (
    "Check the network and pip's configuration (`pip config list`), or name an installed tree: "
    "--vllm-site-packages DIR."
)


@dataclass
class Web:
    """A session for an index and the files that it links to. Safe to be used from several threads."""

    config: PipConfig
    session: requests.Session = field(init=False)
    _logins: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        self.session = requests.Session()
        retry = Retry(
            total=3, connect=1, backoff_factor=0.3, status_forcelist=(500, 502, 503, 504), raise_on_status=False
        )
        for scheme in ("https://", "http://"):
            self.session.mount(scheme, HTTPAdapter(max_retries=retry, pool_maxsize=8))
        for host in self.config.trusted_hosts:
            self.session.mount(f"https://{host}/", _trusting(max_retries=retry, pool_maxsize=8))
        self.session.headers["Accept-Encoding"] = "identity"
        if self.config.cert:
            self.session.verify = self.config.cert
        if self.config.client_cert:
            self.session.cert = self.config.client_cert
        if self.config.proxy:
            self.session.proxies = {"http": self.config.proxy, "https": self.config.proxy}

    def without_login(self, url: str) -> str:
        """``url`` without its user and password, which are kept for requests to the same host."""
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        if at:
            name, _, password = user.partition(":")
            self._logins[host] = (unquote(name), unquote(password))
        return urlunsplit(parts._replace(netloc=host))

    def get(self, url: str, **options: Any) -> requests.Response:  # noqa: ANN401 - handed on to requests
        """The response, whatever its status but 401, 403 and 407. Raises FetchError when there is none."""
        import requests

        login = self._logins.get(urlsplit(url).netloc)
        if login is not None:
            options["auth"] = login
        try:
            response = self.session.get(url, timeout=self.config.timeout, **options)
        except (requests.RequestException, OSError, ValueError) as error:
            raise unreachable(url, error) from None
        if response.status_code in (401, 403, 407):
            response.close()
            raise FetchError(
                f"{shown(url)} answers {response.status_code} ({response.reason}).",
                "Check the credentials of the index in pip's configuration, in ~/.netrc, or in the proxy's address.",
            )
        return response


def shown(url: str) -> str:
    """An address fit to be shown: scheme and host, nothing that can hold a secret. Raises FetchError if it is none."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise FetchError(f"pip's configuration names an index that is no address ({error}).", "Correct it.") from None
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else parts.path or url


def unreachable(url: str, error: Exception) -> FetchError:
    """The sentence for a request that got no answer."""
    import requests

    host = shown(url)
    if isinstance(error, requests.exceptions.SSLError):
        return FetchError(
            f"The TLS certificate of {host} is not accepted ({_innermost(error)}).",
            "If a proxy of your company signs it, name its certificates as for pip: PIP_CERT=/path/to/ca.pem.",
        )
    if isinstance(error, requests.exceptions.ProxyError):
        return FetchError(f"The proxy on the way to {host} fails ({_innermost(error)}).", OFFLINE)
    if isinstance(error, requests.exceptions.Timeout):
        return FetchError(f"{host} does not answer in time.", f"Try again, or set PIP_TIMEOUT higher. {OFFLINE}")
    if isinstance(error, (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema, ValueError)):
        return FetchError(f"{host} is no address of a package index.", "Correct it in pip's configuration.")
    if isinstance(error, OSError) and error.errno == errno.ENOENT:
        return FetchError(f"A certificate file of pip's configuration is not there: {error}.", "Correct PIP_CERT.")
    return FetchError(f"{host} cannot be reached ({_innermost(error)}).", OFFLINE)


def _innermost(error: BaseException) -> str:
    """The reason at the bottom of a chain of exceptions, without addresses."""
    seen = 0
    while seen < 10:
        inner = getattr(error, "reason", None)
        if not isinstance(inner, BaseException):
            inner = (
                next((a for a in error.args if isinstance(a, BaseException)), None)
                or error.__cause__
                or error.__context__
            )
        if inner is None:
            break
        error, seen = inner, seen + 1
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return type(error).__name__


def _trusting(**options: Any) -> Any:  # noqa: ANN401 - a requests adapter, whose class is made here
    """An adapter that does not verify certificates, for pip's ``trusted-host``."""
    from requests.adapters import HTTPAdapter

    class Trusting(HTTPAdapter):
        def send(self, request: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            kwargs["verify"] = False
            return super().send(request, *args, **kwargs)

    return Trusting(**options)
