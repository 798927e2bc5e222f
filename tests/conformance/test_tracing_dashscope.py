"""The vendor's own ``Generation`` under our ``trace_client``: sync, streamed, asynchronous and refused calls."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.conformance

CHECKOUT = Path(__file__).parents[2]
SERVER = """
import asyncio, json, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

seen = []

def answer(text, reason):
    message = {"role": "assistant", "content": text}
    return {
        "output": {"choices": [{"finish_reason": reason, "message": message}]},
        "usage": {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5},
        "request_id": "q",
    }

class Handler(BaseHTTPRequestHandler):
    def log_message(self, *given): pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        seen.append(self.headers.get("traceparent", ""))
        if body["model"] == "broken":
            self.give(400, "application/json", json.dumps({"code": "Bad", "message": "no", "request_id": "q"}))
        elif self.headers.get("X-DashScope-SSE") != "enable":
            self.give(200, "application/json", json.dumps(answer("haha!", "stop")))
        else:
            texts = ["ha", "ha", "!"] if body["parameters"].get("incremental_output") else ["ha", "haha", "haha!"]
            events = [
                f"id:{place}\\nevent:result\\n:HTTP_STATUS/200\\ndata:{json.dumps(answer(text, reason))}\\n\\n"
                for place, (text, reason) in enumerate(zip(texts, ("null", "null", "stop")))
            ]
            self.give(200, "text/event-stream", "".join(events))

    def give(self, status, kind, text):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
"""
CALLS = """
import dashscope
from dashscope import Generation
from dashscope.aigc.generation import AioGeneration
from agentic_rl_tui.core.tracing import calls
from agentic_rl_tui.core.tracing.api import trace_client

dashscope.base_http_api_url = f"http://127.0.0.1:{server.server_port}/api/v1"
records = []
calls.attach(lambda call, make, urgent: records.append(make()))
for cls in (Generation, AioGeneration):
    trace_client(cls)
trace = calls.begin(1, None)
given = {"model": "qwen", "messages": [{"role": "user", "content": "hi"}], "result_format": "message", "api_key": "k"}
text = lambda answer: answer.output.choices[0].message.content
said = [
    [text(Generation.call(**given))],
    [text(part) for part in Generation.call(**given, stream=True)],
    [text(part) for part in Generation.call(**given, stream=True, incremental_output=True)],
]

async def other():
    said.append([text(await AioGeneration.call(**given))])
    parts = await AioGeneration.call(**given, stream=True, incremental_output=True)
    said.append([text(part) async for part in parts])

asyncio.run(other())
Generation.call(**{**given, "model": "broken"})
trace.end()
print(json.dumps({"said": said, "seen": seen, "records": records}, default=str))
"""


def python() -> Path:
    named = os.environ.get("AGENTIC_RL_TEST_DASHSCOPE_TRACING")
    path = Path(named) if named else CHECKOUT / ".cache" / "peers" / "dashscope-2.0.2-tracing" / "bin" / "python"
    if not path.exists():
        pytest.skip("no interpreter with dashscope and its tracing packages")
    return path


def test_generation_of_the_vendor(tmp_path: Path) -> None:
    package = tmp_path / "agentic_rl_tui"
    package.mkdir()
    (package / "core").symlink_to(CHECKOUT / "core")
    done = subprocess.run(
        [python(), "-c", SERVER + CALLS],
        env={**os.environ, "PYTHONPATH": str(tmp_path), "ENABLE_TRAJECTORY": "true", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    assert found["said"] == [["haha!"], ["ha", "haha", "haha!"], ["ha", "ha", "!"], ["haha!"], ["ha", "ha", "!"]]
    spans = [
        record
        for record in found["records"]
        if record and record["type"] == "span" and record["name"].startswith("chat ")
    ]
    assert [(span["name"], span["status"]) for span in spans] == [("chat qwen", "OK")] * 5 + [("chat broken", "ERROR")]
    for span in spans[:5]:
        (message,) = json.loads(span["attributes"]["gen_ai.output.messages"])
        assert (message["parts"], message["finish_reason"]) == ([{"type": "text", "content": "haha!"}], "stop")
        assert span["attributes"]["gen_ai.usage.total_tokens"] == 5
    assert [span["attributes"].get("agentic_rl.stream.chunks") for span in spans] == [None, 3, 3, None, 3, None]
    assert spans[5]["message"] == "Bad: no"
    posts = [record["traced"] for record in found["records"] if record and record["type"] == "http"]
    assert posts == [True] * 6
    assert [name.split("-")[2] for name in found["seen"]] == [span["span_id"] for span in spans]
