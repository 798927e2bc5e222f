"""No request may meet a fault of ours: whatever is wrong with it, the answer names it."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

FT = "/api/v1/fine-tunes"
fuzz = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60, derandomize=True
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**40), 10**40),
    st.just(10**400),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(
        ["..", "/", "\0", "a\ud800", "x" * 3000, "ro-1", "file_id", "pg_opd", "-1", "1e400", "ü.py", "a/" * 50 + "b.py"]
    ),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def trace() -> dict[str, Any]:
    attribute = {"key": "a", "value": {"intValue": "1"}}
    span = {
        "traceId": "a" * 32,
        "spanId": "b" * 16,
        "name": "x",
        "startTimeUnixNano": "1",
        "attributes": [attribute],
        "events": [{"name": "e", "timeUnixNano": "1"}],
        "status": {"code": 1},
    }
    return {
        "resourceSpans": [
            {"resource": {"attributes": [attribute]}, "scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}
        ]
    }


async def bodies(bench: Any) -> dict[str, dict[str, Any]]:
    """A body that is taken, for each route that takes one."""
    job = await bench.request_body()
    instance = await bench.load(await bench.register())
    return {
        FT: {**job, "validation_datasets": job["training_datasets"], "teacher_model": "t", "resource_config": {"a": 1}},
        f"{FT}/generate/faas/upload/url": {"unique_key": "k"},
        f"{FT}/create/faas/layer": {"layer_name": "l", "requirements_content": "a\nb"},
        f"{FT}/create/reward": {
            "name": "functions/fns.py",
            "unique_key": "fuzz",
            "func": "Fn",
            "code_url": await bench.put_package(key="fuzz"),
        },
        f"{FT}/online/faas/jobId-1/{job['rewards'][0]['reward_id']}": {"cpu": 1, "concurrency": 2, "env": {"A": True}},
        f"{FT}/query/faas/log/{instance['instanceId']}": {
            "pageNumber": 1,
            "pageSize": 10,
            "startTime": 1,
            "endTime": 2,
            "keywords": ["a"],
        },
        "/local/v1/practice": {
            "row": {"messages": [{"role": "user", "content": "hi"}], "ground_truth": 1},
            "row_index": 1,
            "seed": 1,
            "temperature": 1,
        },
        "/local/v1/traces": trace(),
    }


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            found += places(item, (*path, number))
    return found


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


@pytest.mark.parametrize("number", range(8))
@fuzz
@given(data=st.data())
async def test_any_value_anywhere_in_a_body(bench: Any, number: int, data: st.DataObject) -> None:
    if not hasattr(bench, "bodies"):
        bench.bodies = await bodies(bench)
    path, body = list(bench.bodies.items())[number]
    place = data.draw(st.sampled_from(places(body)))
    changed = replaced(body, place, data.draw(values))
    answer = await bench.client.post(path, content=json.dumps(changed))
    assert answer.status_code < 500, (path, changed, answer.text)
    if answer.status_code != 200:
        assert set(answer.json()) == {"request_id", "code", "message"}


@fuzz
@given(ident=st.text(min_size=1, max_size=30), key=st.text(max_size=10), value=st.text(max_size=12))
async def test_any_id_and_query(bench: Any, ident: str, key: str, value: str) -> None:
    safe = quote(ident.encode("utf-8", "replace"), safe="")
    query = f"{quote(key.encode('utf-8', 'replace'))}={quote(value.encode('utf-8', 'replace'))}"
    for method, path in (
        ("GET", f"{FT}/{safe}"),
        ("GET", f"{FT}/{safe}/logs"),
        ("POST", f"{FT}/{safe}/cancel"),
        ("DELETE", f"{FT}/{safe}"),
        ("POST", f"{FT}/query/faas/{safe}"),
        ("POST", f"{FT}/delete/faas/{safe}"),
        ("GET", f"{FT}/query/faas/layer/status?layer_code={safe}"),
        ("GET", f"/api/v1/files/{safe}"),
        ("PUT", f"/oss/{safe}.zip?Signature={safe}"),
        ("GET", f"/functions/{safe}/health"),
        ("GET", f"/local/v1/jobs/{safe}/trajectories"),
        ("GET", f"{FT}?page_no={safe}&page_size={safe}&{query}"),
        ("GET", f"/api/v1/files?page_no={safe}"),
    ):
        answer = await bench.client.request(method, path)
        assert answer.status_code < 500, (method, path, answer.text)
