"""Functions: upload of packages, layers, registration, instances and their logs."""

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from agentic_rl_tui.core.models.errors import NotFound
from agentic_rl_tui.core.models.functions import FunctionKind, Runtime
from agentic_rl_tui.core.platform import ids, wire
from agentic_rl_tui.core.platform.store.functions import StoredInstance

if TYPE_CHECKING:
    from agentic_rl_tui.core.platform.service import Platform

_CLASS_NAME = re.compile(r"[^\W\d]\w*")
_MAX_LOG_PAGE = 1000
_MAX_PART_BYTES = 255


async def upload_url(request: Request, platform: "Platform") -> dict[str, Any]:
    body = await wire.read_object(request)
    unique_key = wire.text(body, "unique_key", limit=200)
    if not ids.is_plain(unique_key):
        raise wire.invalid("unique_key may hold letters, digits, - and _ only")
    return {"output": {"url": wire.own_url(request, await platform.packages.upload_path(unique_key))}}


async def put_package(request: Request, platform: "Platform") -> Response:
    upload = platform.packages.resolve(request.path_params["name"], request.query_params.get("Signature", ""))
    digest = await platform.packages.receive(upload, request.stream())
    return Response(status_code=200, media_type="application/xml", headers={"ETag": f'"{digest}"'})


async def create_layer(request: Request, platform: "Platform") -> dict[str, Any]:
    body = await wire.read_object(request)
    requirements = body.get("requirements_content") or ""
    if not isinstance(requirements, str):
        raise wire.invalid("requirements_content must be a text")
    layer = await platform.layers.create(wire.text(body, "layer_name", limit=200), requirements)
    return {"output": {"layer_code": layer.layer_code}}


async def layer_status(request: Request, platform: "Platform") -> dict[str, Any]:
    layer_code = request.query_params.get("layer_code", "")
    layer = await platform.layers.settled(layer_code)
    if layer is None:
        raise NotFound(f"Layer {layer_code[:100]} not found")
    output = {"layer_code": layer.layer_code, "status": layer.status}
    if layer.message:
        output["message"] = layer.message
    return {"output": output}


async def register(request: Request, platform: "Platform") -> dict[str, Any]:
    kind = next((kind for kind in FunctionKind if kind.route == request.path_params["kind"]), None)
    if kind is None:
        raise NotFound(f"There is no route {request.method} {request.url.path}")
    body = await wire.read_object(request)
    path = _source_path(wire.text(body, "name", limit=1000))
    class_name = wire.text(body, "func", limit=200)
    if not _CLASS_NAME.fullmatch(class_name):
        raise wire.invalid(f"func {class_name!r} is not a class name")
    package_hash = platform.packages.of_url(wire.text(body, "code_url", limit=10_000))
    if not (platform.packages.directory_of(package_hash) / path).is_file():
        raise wire.invalid(f"The package holds no file {path}")
    entity = await platform.functions.register(
        kind,
        unique_key=wire.text(body, "unique_key", limit=200),
        path=path,
        class_name=class_name,
        package_hash=package_hash,
    )
    return {"output": {kind.entity_field: entity.entity_id}}


def _source_path(name: str) -> str:
    """The normal form of a source file's path inside a package. Raises Rejected for one that leaves it."""
    pure = PurePosixPath(name)
    is_odd = any(part == ".." or len(part.encode("utf-8", "replace")) > _MAX_PART_BYTES for part in pure.parts)
    if is_odd or pure.is_absolute() or "\0" in name or "\\" in name or pure.suffix != ".py":
        raise wire.invalid(f"name {name!r} must be the path of a .py file inside the package")
    return str(pure)


async def load(request: Request, platform: "Platform") -> dict[str, Any]:
    entity_id = wire.path_id(request, "entity_id")
    load_id = wire.path_id(request, "load_id")
    entity = platform.functions.entity(entity_id)
    if entity is None:
        raise NotFound(f"Function {entity_id} not found")
    body = await wire.read_object(request)
    runtime = _checked_runtime(body)
    instance = await platform.functions.load(entity, runtime=runtime, load_key=f"{load_id}/{entity_id}")
    platform.instances.warm(instance)
    return {
        "output": {
            "instanceId": instance.instance_id,
            "trigger_url": _trigger_url(request, instance),
            "trigger_token": instance.token,
        }
    }


def _checked_runtime(body: dict[str, Any]) -> dict[str, Any]:
    from pydantic import ValidationError

    try:
        Runtime.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise wire.invalid(f"{place}: {first['msg']}") from error
    return body


async def query(request: Request, platform: "Platform") -> dict[str, Any]:
    instance = _found(request, platform)
    output = {
        "instance_id": instance.instance_id,
        "status": int(platform.instances.state(instance.instance_id)),
        "trigger_url": _trigger_url(request, instance),
        "trigger_token": instance.token,
    }
    if (failure := platform.instances.failure(instance.instance_id)) is not None:
        output["message"] = failure
    return {"output": output}


async def logs(request: Request, platform: "Platform") -> dict[str, Any]:
    instance = _found(request, platform)
    body = await wire.read_object(request)
    page, size = _number(body, "pageNumber", 1), _number(body, "pageSize", 100)
    if page < 1 or not 1 <= size <= _MAX_LOG_PAGE:
        raise wire.invalid(f"pageNumber starts at 1, pageSize lies between 1 and {_MAX_LOG_PAGE}")
    keywords = body.get("keywords") or []
    if not isinstance(keywords, list) or not all(isinstance(keyword, str) for keyword in keywords):
        raise wire.invalid("keywords must be a list of texts")
    start, end = body.get("startTime"), body.get("endTime")
    entries, total = await platform.instance_logs.query(
        instance.instance_id,
        page=int(page),
        size=int(size),
        start_s=None if start is None else _number(body, "startTime", 0),
        end_s=None if end is None else _number(body, "endTime", 0),
        keywords=keywords,
    )
    return {
        "output": {
            "page_number": page,
            "page_size": size,
            "total_count": total,
            "log_entries": [
                {
                    "instance_id": instance.instance_id,
                    "message": entry.text,
                    "timestamp": int(entry.time_s),
                    "stream": entry.stream,
                }
                for entry in entries
            ],
        }
    }


def _number(body: dict[str, Any], key: str, default: int) -> int:
    value = body.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise wire.invalid(f"{key} must be a whole number")
    return int(value)


async def delete(request: Request, platform: "Platform") -> dict[str, Any] | Response:
    instance = _found(request, platform)
    if instance.job_id is not None and platform.instances.is_running(instance.instance_id):
        raise wire.unsupported(f"Instance {instance.instance_id} belongs to job {instance.job_id}, which is running")
    await platform.instances.delete(instance.instance_id)
    return {"code": 0, "message": "success", "data": {"status": "deleted", "sandbox_code": instance.instance_id}}


def _found(request: Request, platform: "Platform") -> StoredInstance:
    instance_id = wire.path_id(request, "instance_id")
    instance = platform.functions.instance(instance_id)
    if instance is None:
        raise NotFound(f"Instance {instance_id} not found")
    return instance


def _trigger_url(request: Request, instance: StoredInstance) -> str:
    return wire.own_url(request, f"/functions/{instance.instance_id}")


_PREFIX = "/api/v1/fine-tunes"

routes: list[BaseRoute] = [
    wire.endpoint(f"{_PREFIX}/generate/faas/upload/url", post=upload_url),
    wire.endpoint("/oss/{name}", put=put_package),
    wire.endpoint(f"{_PREFIX}/create/faas/layer", post=create_layer),
    wire.endpoint(f"{_PREFIX}/query/faas/layer/status", get=layer_status),
    wire.endpoint(f"{_PREFIX}/create/{{kind}}", post=register),
    wire.endpoint(f"{_PREFIX}/online/faas/{{load_id}}/{{entity_id}}", post=load),
    wire.endpoint(f"{_PREFIX}/query/faas/log/{{instance_id}}", post=logs),
    wire.endpoint(f"{_PREFIX}/query/faas/{{instance_id}}", post=query),
    wire.endpoint(f"{_PREFIX}/delete/faas/{{instance_id}}", post=delete),
]
