"""Function packages: received at a signed URL, stored once by content, unpacked once."""

import asyncio
import hashlib
import hmac
import os
import shutil
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from agentic_rl_tui.core.models.errors import AccessDenied, PackageError
from agentic_rl_tui.core.platform import crash, ids, wire
from agentic_rl_tui.core.platform.store.functions import Functions, Upload

_KEY_ID = "local"
_ROUTE = "/oss/"
_SUFFIX = ".zip"
_CHUNK_BYTES = 1 << 20


class Packages:
    """`directory` holds ``<sha256>/`` for each package that arrived."""

    def __init__(self, functions: Functions, directory: Path, *, max_bytes: int, url_lifetime_s: float) -> None:
        self._functions = functions
        self._directory = directory
        self._max_bytes = max_bytes
        self._url_lifetime_s = url_lifetime_s
        self._unpacking: dict[str, asyncio.Lock] = {}

    async def upload_path(self, unique_key: str) -> str:
        """Path and query of the URL to put a package to."""
        upload = await self._functions.open_upload(unique_key, self._url_lifetime_s)
        return (
            f"{_ROUTE}{unique_key}{_SUFFIX}?Expires={int(upload.expires_at)}"
            f"&OSSAccessKeyId={_KEY_ID}&Signature={upload.signature}"
        )

    def resolve(self, name: str, signature: str, *, check_time: bool = True) -> Upload:
        """The upload that a URL's name and signature stand for. Raises AccessDenied."""
        key = name.removesuffix(_SUFFIX)
        upload = self._functions.upload(key) if ids.is_plain(key) and name.endswith(_SUFFIX) else None
        if upload is None or not hmac.compare_digest(upload.signature.encode(), signature.encode()):
            raise AccessDenied("The signature does not match.", code="SignatureDoesNotMatch")
        if check_time and upload.expires_at < time.time():
            raise AccessDenied("Request has expired.")
        return upload

    def of_url(self, code_url: str) -> str:
        """The content hash of the package that was put to a URL of ours. Raises Rejected."""
        try:
            parts = urlsplit(code_url)
            signature = parse_qs(parts.query).get("Signature", [""])[0]
            upload = self.resolve(parts.path.removeprefix(_ROUTE), signature, check_time=False)
        except (ValueError, AccessDenied):
            raise wire.invalid("code_url is not an upload URL of this platform") from None
        if upload.package_hash is None:
            raise wire.invalid("No package was put to code_url yet")
        return upload.package_hash

    async def receive(self, upload: Upload, chunks: AsyncIterator[bytes]) -> str:
        """Store what is put to a URL; the package's hash. Raises Rejected (413), PackageError for an unusable one."""
        incoming = self._directory / f".incoming-{uuid.uuid4().hex}"
        # Named as the client knows it, since errors tell the name.
        archive = incoming / f"{upload.unique_key}{_SUFFIX}"
        incoming.mkdir(mode=0o700, parents=True)
        try:
            digest, size = await self._save(archive, chunks)
            crash.point("package.received")
            await self._unpack(archive, digest)
            crash.point("package.unpacked")
        finally:
            shutil.rmtree(incoming, ignore_errors=True)
        await self._functions.uploaded(upload.unique_key, digest, size)
        return digest

    def directory_of(self, package_hash: str) -> Path:
        """Where a package lies unpacked. Raises PackageError when it is gone."""
        path = self._directory / package_hash
        if not path.is_dir():
            raise PackageError("The function's package is no longer stored; register the function again.")
        return path

    def sweep(self, in_use: set[str]) -> None:
        """Remove all but the packages in use: also what was left half received or half unpacked."""
        for path in self._directory.iterdir() if self._directory.is_dir() else ():
            if path.name in in_use:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    async def _save(self, archive: Path, chunks: AsyncIterator[bytes]) -> tuple[str, int]:
        digest = hashlib.sha256()
        size = 0
        held = bytearray()
        descriptor = os.open(archive, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as sink:

            def drain(data: bytes) -> None:
                digest.update(data)
                sink.write(data)

            async for chunk in chunks:
                size += len(chunk)
                if size > self._max_bytes:
                    raise wire.too_large(f"The package is larger than {self._max_bytes} bytes")
                held += chunk
                if len(held) >= _CHUNK_BYTES:
                    await asyncio.to_thread(drain, bytes(held))
                    held.clear()
            if held:
                await asyncio.to_thread(drain, bytes(held))
        return digest.hexdigest(), size

    async def _unpack(self, archive: Path, digest: str) -> None:
        from agentic_rl_tui.core.functions.package import unpack

        lock = self._unpacking.setdefault(digest, asyncio.Lock())
        async with lock:
            target = self._directory / digest
            if not target.is_dir():
                await asyncio.to_thread(unpack, archive, target)
        self._unpacking.pop(digest, None)
