"""Clones and comparisons of jobs, out of what this machine remembers of their making."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentic_rl_tui.core.jobfile import check
from agentic_rl_tui.core.models.errors import Conflict, NotFound
from agentic_rl_tui.core.models.jobs import Job
from agentic_rl_tui.core.sdk.clone import Start, clone_text
from agentic_rl_tui.core.sdk.compare import comparison


async def submitted(client: Any, workspace: Path, **given: Any) -> Job:
    job: Job = await client.init(workspace / "job.yaml", **given).run()
    return job


async def test_a_clone_keeps_the_text_of_an_unchanged_file_and_says_where_it_came_from(service, client, workspace):
    file = workspace / "job.yaml"
    file.write_text(f"# 我的注释\n{file.read_text()}", encoding="utf-8")
    job = await submitted(client, workspace)
    cloned = await client.clone(job.job_id)
    text = cloned.path.read_text(encoding="utf-8")
    assert cloned.path.parent == workspace
    assert cloned.path.name.endswith("-clone.yaml")
    assert text.startswith("# Cloned from job ")
    assert job.job_id in text.splitlines()[0]
    assert text.endswith(file.read_text(encoding="utf-8"))


async def test_no_clone_writes_over_a_file(service, client, workspace):
    job = await submitted(client, workspace)
    paths = [(await client.clone(job.job_id)).path for _ in range(3)]
    assert [path.name.rpartition("-clone")[2] for path in paths] == [".yaml", "-2.yaml", "-3.yaml"]
    with pytest.raises(Conflict):
        await client.clone(job.job_id, output=workspace / "job.yaml")


async def test_what_was_given_beside_the_file_is_in_the_clone(service, client, workspace):
    job = await submitted(client, workspace, model="qwen3.5-27b", hyper_parameters={"n_epochs": 7})
    text = (await client.clone(job.job_id)).path.read_text(encoding="utf-8")
    made = check(text, path=workspace / "x.yaml").job
    assert made is not None
    assert made.model.name == "qwen3.5-27b"
    assert made.training.hyper_parameters["n_epochs"] == 7
    assert made.training.hyper_parameters["batch_size"] == 16


async def test_a_job_whose_file_changed_is_cloned_from_what_was_remembered(service, client, workspace):
    file = workspace / "job.yaml"
    job = await submitted(client, workspace)
    before = check(file.read_text(), path=file).job
    file.write_text("name: another\n")
    text = (await client.clone(job.job_id)).path.read_text(encoding="utf-8")
    made = check(text, path=file).job
    assert before is not None
    assert made is not None
    assert [(spec.type, spec.fcmodel.classpath) for spec in made.functions] == [
        (spec.type, spec.fcmodel.classpath) for spec in before.functions
    ]
    assert made.training.hyper_parameters == before.training.hyper_parameters


async def test_values_of_environment_variables_are_not_kept_and_named(service, client, workspace):
    file = workspace / "job.yaml"
    file.write_text(file.read_text().replace("TRACE: true", "TOKEN: s3cr3t-value"))
    job = await submitted(client, workspace)
    origin = client.origin(job.job_id)
    assert origin.left_out == ("TOKEN", "LEVEL")
    assert "s3cr3t-value" not in json.dumps(dict(origin.values))
    file.unlink()
    text = (await client.clone(job.job_id)).path.read_text(encoding="utf-8")
    assert "TOKEN" in text
    assert "s3cr3t-value" not in text


async def test_a_job_of_elsewhere_is_cloned_from_what_the_service_tells(service, client, workspace):
    service.jobs.insert(
        0,
        {
            "job_id": "ft-far",
            "job_name": "far-away-0a1b2c3d",
            "status": "SUCCEEDED",
            "model": "qwen3.5-9b",
            "training_type": "reinforcement",
            "hyper_parameters": {"batch_size": 8, "learning_rate": "2e-6"},
            "training_file_ids": ["file-7"],
        },
    )
    cloned = await client.clone("ft-far")
    text = cloned.path.read_text(encoding="utf-8")
    assert cloned.path.name == "far-away-clone.yaml"
    assert any("functions" in note for note in cloned.notes)
    made = check(text, path=cloned.path).job
    assert made is not None
    assert made.name == "far-away"
    assert made.datasets[0].file_id == "file-7"
    assert made.training.hyper_parameters["batch_size"] == 8


async def test_going_on_takes_the_output_and_refuses_a_name_there_is_not(service, client, workspace):
    job = await submitted(client, workspace)
    service.jobs[0] |= {"status": "SUCCEEDED", "finetuned_output": "my-tuned-model"}
    assert [start.name for start in await client.checkpoints(job.job_id)] == ["my-tuned-model"]
    cloned = await client.clone(job.job_id, checkpoint="best")
    made = check(cloned.path.read_text(encoding="utf-8"), path=cloned.path).job
    assert made is not None
    assert made.model.name == "my-tuned-model"
    assert cloned.path.name.endswith("-continued.yaml")
    with pytest.raises(NotFound, match="step-9"):
        await client.clone(job.job_id, checkpoint="step-9")


def test_names_from_outside_cannot_break_out_of_the_comment_or_the_file_name():
    job = Job(job_id="ft-1", job_name="a\nmodel: {name: evil}\x1b]0;x\x07/../../b")
    text, _notes = clone_text(job, None, Start("m\nname: evil"))
    made = check(text, path=Path("x.yaml")).job
    assert made is not None
    assert made.model.name == "m\nname: evil"
    assert "\x1b" not in text.splitlines()[0]
    assert all(line.startswith("#") for line in text.splitlines()[:2])


async def test_a_comparison_tells_settings_code_and_data(service, client, workspace):
    old = await submitted(client, workspace)
    source = next((workspace / "functions").rglob("answer.py"))
    source.write_text(f"{source.read_text()}\nLIMIT = 3\n")
    data = workspace / "data" / "train.jsonl"
    data.write_text(data.read_text() + data.read_text().splitlines()[0] + "\n")
    new = await submitted(client, workspace, hyper_parameters={"n_epochs": 9})
    found = await client.compare(old.job_id, new.job_id)
    assert [change.key for change in found.settings] == ["training.hyper_parameters.n_epochs"]
    assert {change.state for change in found.functions} == {"changed"}
    assert [(file.path.rpartition("/")[2], "LIMIT = 3" in (file.new or "")) for file in found.files] == [
        ("answer.py", True)
    ]
    states = {change.use: change.state for change in found.data}
    assert states["training"] == "changed"
    rows = next(change for change in found.data if change.use == "training")
    assert rows.old is not None
    assert rows.new is not None
    assert rows.new.rows == (rows.old.rows or 0) + 1
    assert not found.is_same
    assert (await client.compare(old.job_id, old.job_id)).is_same


async def test_jobs_of_elsewhere_are_compared_by_what_the_service_tells(service, client, workspace):
    old = Job(job_id="a", model="m1", hyper_parameters={"x": "1"}, training_file_ids=["f1"])
    new = Job(job_id="b", model="m2", hyper_parameters={"x": 1}, training_file_ids=["f1"])
    found = comparison(old, new, None, None, client.session.origins().sources)
    assert [change.key for change in found.settings] == ["model.name"]
    assert [change.state for change in found.data] == ["same"]
    assert found.unknown == ("a", "b")


async def test_a_broken_memory_counts_as_not_known(service, client, workspace):
    job = await submitted(client, workspace)
    origins = client.session.origins()
    next(origins.folder.glob("*.json")).write_text('{"version": 1, "job_id": ')
    assert client.origin(job.job_id) is None
    assert (await client.clone(job.job_id)).path.is_file()
