import asyncio
import json
import re
from typing import Any

import pytest

from agentic_rl_tui.core.models.jobs import JobProgress
from agentic_rl_tui.core.models.status import JobStatus

FT = "/api/v1/fine-tunes"


async def put(bench: Any, job_id: str, *statuses: JobStatus) -> None:
    for status in statuses:
        assert await bench.platform.jobs.move(job_id, status)


async def test_a_new_job_waits_and_the_scheduler_is_woken(bench: Any) -> None:
    body = await bench.request_body(validation_datasets=[{"type": "validation", "file_id": await bench.upload("v")}])
    answer = await bench.client.post(FT, json=body, headers={"X-DashScope-WorkSpace": "llm-1"})
    assert set(answer.json()) == {"request_id", "output"}
    job = answer.json()["output"]
    assert re.fullmatch(r"ft-\d{12}-[0-9a-f]{4}", job["job_id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", job["create_time"])
    assert (job["status"], job["job_name"], job["model"], job["base_model"]) == (
        "PENDING",
        "demo-12345678",
        "qwen3.5-9b",
        "qwen3.5-9b",
    )
    assert job["training_file_ids"] == [body["training_datasets"][0]["file_id"]]
    assert job["validation_file_ids"] == [body["validation_datasets"][0]["file_id"]]
    assert job["hyper_parameters"] == {"batch_size": 4, "learning_rate": "2e-6"}
    assert job["workspace_id"] == "llm-1"
    assert all(job[key] for key in ("creator", "user_identity", "modifier", "group"))
    assert None not in job.values()
    assert bench.platform.scheduler.events[-1] == "wake"
    got = await bench.client.get(f"{FT}/{job['job_id']}")
    assert got.json()["output"] == job


async def test_every_scenario_of_the_service_is_taken(bench: Any) -> None:
    opd = {"training_type": "pg_opd", "teacher_model": "qwen3-max"}
    for changes in (
        {**opd},
        {**opd, "rollout": None},
        {**opd, "rewards": None},
        {**opd, "rollout": None, "rewards": None},
        {"training_type": None},
        {"hyper_parameters": {"batch_size": "4", "n_epochs": 2.0, "kl_loss_coef": 0, "made_up": "x"}},
        {"hyper_parameters": None, "job_name": None},
    ):
        await bench.create_job(**changes)
    plain = {"training_datasets": None, "training_file_ids": [await bench.upload()], "validation_file_ids": None}
    job_id = await bench.create_job(**plain)
    job = (await bench.client.get(f"{FT}/{job_id}")).json()["output"]
    assert job["training_file_ids"] == plain["training_file_ids"]


async def test_a_teacher_makes_a_distillation(bench: Any) -> None:
    job_id = await bench.create_job(training_type=None, teacher_model="qwen3-max", rollout=None, rewards=None)
    job = (await bench.client.get(f"{FT}/{job_id}")).json()["output"]
    assert (job["training_type"], job["teacher_model"]) == ("pg_opd", "qwen3-max")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": None}, "model is required"),
        ({"model": {"name": "x"}}, "model is required"),
        ({"training_datasets": None}, "training_datasets is required"),
        ({"training_datasets": []}, "training_datasets is required"),
        ({"training_datasets": "x"}, "training_datasets must be a list"),
        ({"training_datasets": ["x"]}, "training_datasets[0] must be an object"),
        ({"training_datasets": [{"type": "training"}]}, "training_datasets[0].file_id is required"),
        ({"training_datasets": [{"file_id": "nope"}]}, "file 'nope' does not exist"),
        ({"training_datasets": [{"file_id": "../../x"}]}, "does not exist"),
        ({"training_datasets": [{"data_source_type": "oss_mount"}]}, "upload the file"),
        ({"training_datasets": [{"data_source_type": "floppy"}]}, "not known"),
        ({"validation_datasets": [{"file_id": "nope"}]}, "validation_datasets[0].file_id: file 'nope'"),
        ({"validation_file_ids": ["nope"]}, "validation_file_ids[0]: file 'nope'"),
        ({"rollout": None}, "rollout is required"),
        ({"rollout": "x"}, "rollout must be an object"),
        ({"rollout": {"rollout_id": "ro-x"}}, "function 'ro-x' does not exist"),
        ({"rewards": None}, "rewards is required"),
        ({"rewards": [{"name": "x"}]}, "rewards[0].reward_id is required"),
        ({"training_type": "sft"}, "not supported here"),
        ({"training_type": "pg-opd", "teacher_model": "t"}, "not supported here"),
        ({"training_type": "pg_opd"}, "teacher_model is required"),
        ({"teacher_model": 5}, "teacher_model must be a valid model ID"),
        ({"job_name": "x" * 301}, "job_name"),
        ({"job_name": 5}, "job_name"),
        ({"hyper_parameters": []}, "hyper_parameters must be an object"),
        ({"hyper_parameters": {"batch_size": 0}}, "hyper_parameters.batch_size must lie between 1 and 100000"),
        ({"hyper_parameters": {"batch_size": 1.5}}, "must be a whole number"),
        ({"hyper_parameters": {"n_epochs": True}}, "hyper_parameters.n_epochs must be a number"),
        ({"hyper_parameters": {"learning_rate": "fast"}}, "hyper_parameters.learning_rate must be a number"),
        ({"hyper_parameters": {"learning_rate": "nan"}}, "must be a number"),
        ({"hyper_parameters": {"algorithm": "ppo"}}, "must be one of gspo, grpo, dapo"),
        ({"resource_config": "x"}, "resource_config must be an object"),
    ],
)
async def test_a_job_that_cannot_be_is_refused_by_name(bench: Any, changes: dict[str, Any], words: str) -> None:
    body = {**await bench.request_body(), **changes}
    answer = await bench.client.post(FT, json={key: value for key, value in body.items() if value is not None})
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidParameter"), answer.text
    assert words in answer.json()["message"]
    assert (await bench.client.get(FT)).json()["output"]["total"] == 0


async def test_functions_are_checked_for_their_kind_and_numbers(bench: Any) -> None:
    body = await bench.request_body()
    rollout_id, reward_id = body["rollout"]["rollout_id"], body["rewards"][0]["reward_id"]
    group_id = await bench.register("group-reward")
    for changes, words in (
        ({"rollout": {"rollout_id": reward_id}}, "is a reward function"),
        ({"rewards": [{"reward_id": rollout_id}]}, "is a rollout function"),
        ({"rewards": [{"reward_id": reward_id, "weight": "heavy"}]}, "rewards[0].weight must be a number"),
        ({"rewards": [{"reward_id": reward_id, "timeout": 0}]}, "rewards[0].timeout must be greater than 0"),
        ({"rewards": [{"reward_id": reward_id, "reward_metric_weight": 3}]}, "reward_metric_weight must be an object"),
        ({"rewards": [{"reward_id": reward_id, "reward_metric_weight": {"a": "x"}}]}, "reward_metric_weight"),
    ):
        answer = await bench.client.post(FT, json={**body, **changes})
        assert answer.status_code == 400, answer.text
        assert words in answer.json()["message"]
    taken = await bench.client.post(FT, json={**body, "rewards": [{"reward_id": reward_id}, {"reward_id": group_id}]})
    assert taken.status_code == 200


async def test_names_may_repeat_and_are_found_by_a_filter(bench: Any) -> None:
    body = await bench.request_body()
    ids = [(await bench.client.post(FT, json=body)).json()["output"]["job_id"] for _ in range(2)]
    assert len(set(ids)) == 2
    found = (await bench.client.get(FT, params={"job_name": "demo-12345678"})).json()["output"]
    assert [job["job_id"] for job in found["jobs"]] == ids[::-1]


async def test_lists_are_paged_newest_first(bench: Any) -> None:
    body = await bench.request_body()
    ids = [(await bench.client.post(FT, json=body)).json()["output"]["job_id"] for _ in range(5)]
    first = (await bench.client.get(FT)).json()["output"]
    assert (first["page_no"], first["page_size"], first["total"]) == (1, 10, 5)
    assert [job["job_id"] for job in first["jobs"]] == ids[::-1]
    last = (await bench.client.get(f"{FT}?page_no=3&page_size=2")).json()["output"]
    assert [job["job_id"] for job in last["jobs"]] == [ids[0]]
    assert (await bench.client.get(f"{FT}?page_no=100000&page_size=50")).json()["output"]["jobs"] == []


@pytest.mark.parametrize(
    "query", ["page_no=0", "page_no=-1", "page_size=0", "page_size=101", "page_no=x", f"page_no={10**30}"]
)
async def test_pages_out_of_range_are_refused(bench: Any, query: str) -> None:
    answer = await bench.client.get(f"{FT}?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "InvalidParameter")


async def test_a_job_shows_how_it_went(bench: Any) -> None:
    job_id = await bench.create_job()
    await put(bench, job_id, JobStatus.RUNNING)
    await bench.platform.jobs.set_progress(job_id, JobProgress(phase="train", step=2, total_steps=4, rewards=(0.5,)))
    job = (await bench.client.get(f"{FT}/{job_id}")).json()["output"]
    assert job["progress"] == {"phase": "train", "step": 2, "total_steps": 4, "rewards": [0.5]}
    assert "start_time" in job
    assert "end_time" not in job
    assert "finetuned_output" not in job
    await bench.platform.jobs.set_output(job_id, "qwen3.5-9b-x")
    assert await bench.platform.jobs.move(job_id, JobStatus.FAILED, code="InternalError", message="platform stopped")
    job = (await bench.client.get(f"{FT}/{job_id}")).json()["output"]
    assert (job["code"], job["message"], job["finetuned_output"]) == (
        "InternalError",
        "platform stopped",
        "qwen3.5-9b-x",
    )
    assert "end_time" in job


async def test_logs_skip_offset_lines(bench: Any) -> None:
    job_id = await bench.create_job()
    empty = (await bench.client.get(f"{FT}/{job_id}/logs")).json()["output"]
    assert empty == {"total": 0, "logs": []}
    await bench.platform.job_logs.append(job_id, [f"line {number}" for number in range(150)])
    page = (await bench.client.get(f"{FT}/{job_id}/logs")).json()["output"]
    assert (page["total"], len(page["logs"]), page["logs"][0]) == (150, 100, "line 0")
    page = (await bench.client.get(f"{FT}/{job_id}/logs?offset=149&line=1000")).json()["output"]
    assert page["logs"] == ["line 149"]
    assert (await bench.client.get(f"{FT}/{job_id}/logs?offset=10000&line=5")).json()["output"]["logs"] == []
    for query in ("offset=-1", "line=0", "line=1001", "offset=x"):
        assert (await bench.client.get(f"{FT}/{job_id}/logs?{query}")).status_code == 400


async def test_cancel_follows_the_jobs_state(bench: Any) -> None:
    waiting, running, done = [await bench.create_job() for _ in range(3)]
    await put(bench, running, JobStatus.RUNNING)
    await put(bench, done, JobStatus.RUNNING, JobStatus.SUCCEEDED)
    for job_id, status in ((waiting, "CANCELED"), (running, "CANCELING")):
        answer = await bench.client.post(f"{FT}/{job_id}/cancel")
        assert answer.json()["output"] == {"status": "success"}
        assert (await bench.client.get(f"{FT}/{job_id}")).json()["output"]["status"] == status
    assert (await bench.client.post(f"{FT}/{running}/cancel")).status_code == 200
    for job_id, status in ((waiting, "CANCELED"), (done, "SUCCEEDED")):
        answer = await bench.client.post(f"{FT}/{job_id}/cancel")
        assert (answer.status_code, answer.json()["code"]) == (400, "UnsupportedOperation")
        assert status in answer.json()["message"]


async def test_delete_takes_all_that_was_kept(bench: Any) -> None:
    job_id = await bench.create_job()
    await put(bench, job_id, JobStatus.RUNNING)
    refused = await bench.client.delete(f"{FT}/{job_id}")
    assert (refused.status_code, refused.json()["code"]) == (400, "UnsupportedOperation")
    rollout_id = bench.platform.jobs.stored(job_id).request["rollout"]["rollout_id"]
    job = await bench.platform.jobs.job(job_id)
    function = await bench.platform.job_functions.open(
        rollout_id, runtime=job.request.rollout, timeout_s=None, job_id=job_id, name="rollout-1"
    )
    listed = (await bench.client.get(f"/local/v1/jobs/{job_id}/functions")).json()["functions"]
    assert [(item["name"], item["entity_id"], item["status"]) for item in listed] == [("rollout-1", rollout_id, 2)]
    instance_id = listed[0]["instance_id"]
    in_use = await bench.client.post(f"{FT}/delete/faas/{instance_id}", json={})
    assert in_use.status_code == 400
    await function.close()
    await bench.platform.job_logs.append(job_id, ["x"])
    artefacts = bench.platform.paths.jobs / job_id
    artefacts.mkdir(parents=True)
    await put(bench, job_id, JobStatus.SUCCEEDED)
    assert (await bench.client.delete(f"{FT}/{job_id}")).json()["output"] == {"status": "success"}
    assert (await bench.client.get(f"{FT}/{job_id}")).status_code == 404
    assert bench.platform.functions.instance(instance_id) is None
    assert bench.platform.job_logs.ids() == set()
    assert not artefacts.exists()


async def test_job_functions_call_their_pool_and_log(bench: Any) -> None:
    body = await bench.request_body()
    job = bench.platform.parse_request({**body, "rollout": {**body["rollout"], "concurrency": 4, "capacity": 1}})
    function = await bench.platform.job_functions.open(
        job.rollout.rollout_id, runtime=job.rollout, timeout_s=3.0, job_id="ft-1", name="rollout-1"
    )
    assert (function.kind, function.name, function.slots) == ("rollout", "rollout-1", 2)
    assert bench.pools[0].request.concurrency == 4
    result = await function.call({"messages": []})
    assert result.is_ok
    entries, _ = await bench.platform.instance_logs.query(function.instance.instance_id, page=1, size=10)
    assert [entry.text for entry in entries] == ["called 1"]
    await function.close()
    assert not bench.pools[0].is_running


async def test_a_job_that_is_cancelled_as_its_functions_start_leaves_none(bench: Any) -> None:
    gate = asyncio.Event()
    bench.next_pool["start_gate"] = gate
    body = await bench.request_body()
    job = bench.platform.parse_request(body)
    opening = asyncio.create_task(
        bench.platform.job_functions.open(
            job.rollout.rollout_id, runtime=job.rollout, timeout_s=3.0, job_id="ft-1", name="rollout-1"
        )
    )
    while not bench.pools:  # noqa: ASYNC110 - nothing tells that a pool was made
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait({opening})
    gate.set()
    (instance,) = bench.platform.functions.instances_of_job("ft-1")
    assert not bench.platform.instances.is_running(instance.instance_id)
    assert not bench.pools[0].is_running


@pytest.mark.parametrize("suffix", ["", "/logs", "/stream"])
async def test_unknown_jobs_are_not_found(bench: Any, suffix: str) -> None:
    answer = await bench.client.get(f"{FT}/ft-000000000000-0000{suffix}")
    assert (answer.status_code, answer.json()["code"]) == (404, "NotFound")
    assert "ft-000000000000-0000" in answer.json()["message"]


async def test_unknown_jobs_cannot_be_changed(bench: Any) -> None:
    assert (await bench.client.delete(f"{FT}/ft-000000000000-0000")).status_code == 404
    assert (await bench.client.post(f"{FT}/ft-000000000000-0000/cancel")).status_code == 404


async def test_the_stream_ends_with_the_job_after_its_last_line(bench: Any) -> None:
    job_id = await bench.create_job()
    await bench.platform.job_logs.append(job_id, ["one", "two"])
    reading = asyncio.create_task(bench.client.get(f"{FT}/{job_id}/stream"))
    await asyncio.sleep(0)
    await put(bench, job_id, JobStatus.RUNNING)
    await bench.platform.job_logs.append(job_id, ["three"])
    await put(bench, job_id, JobStatus.SUCCEEDED)
    answer = await reading
    assert answer.headers["content-type"] == "text/event-stream;charset=UTF-8"
    events = [json.loads(line[5:]) for line in answer.text.splitlines() if line.startswith("data:")]
    assert [event["message"] for event in events if "message" in event] == ["one", "two", "three"]
    assert [event["line"] for event in events if "line" in event] == [1, 2, 3]
    assert events[-1] == {"job_id": job_id, "status": "SUCCEEDED", "progress": None} or events[-1]["message"] == "three"
    assert [line for line in answer.text.splitlines() if line.startswith("id:")] == [
        f"id:{number}" for number in range(1, len(events) + 1)
    ]


async def test_the_stream_of_a_job_that_goes_on_ends_with_the_platform(bench: Any) -> None:
    job_id = await bench.create_job()
    reading = asyncio.create_task(bench.client.get(f"{FT}/{job_id}/stream"))
    await asyncio.sleep(0)
    bench.platform.begin_stop()
    assert '"status":"PENDING"' in (await reading).text


async def test_jobs_that_nobody_runs_are_ended(bench: Any) -> None:
    running, lost, canceling, waiting = [await bench.create_job() for _ in range(4)]
    for job_id in (running, lost, canceling):
        await put(bench, job_id, JobStatus.RUNNING)
    await put(bench, canceling, JobStatus.CANCELING)
    bench.platform.scheduler.held = [running]
    await bench.platform.settle_lost_jobs()
    found = [bench.platform.jobs.stored(job_id) for job_id in (running, lost, canceling, waiting)]
    assert [job.status for job in found] == ["RUNNING", "FAILED", "CANCELED", "PENDING"]
    assert "could not be written" in found[1].message
