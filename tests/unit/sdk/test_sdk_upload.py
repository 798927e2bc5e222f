"""Data sets: checked before they are sent, none skipped, none sent twice."""

import threading
from itertools import chain

import pytest

from agentic_rl_tui.core.models import errors
from agentic_rl_tui.core.sdk import Note, StepFinished, StepProgress, TrainingDataset, ValidationDataset
from agentic_rl_tui.core.sdk.components import Dataset, DataSourceType

ROW = '{"messages": [{"role": "user", "content": "1 + 1?"}], "rollout_extra": {"solution": "2"}}\n'


@pytest.fixture
def data(tmp_path):
    def write(name: str, text: str = ROW):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return write


async def test_data_sets_of_the_job_file(service, client, workspace):
    told = []
    uploaded = await client.init(workspace / "job.yaml").upload_datasets(on_event=told.append)
    assert [service.files[file_id]["name"] for file_id in chain(*uploaded)] == ["train.jsonl", "valid.jsonl"]
    finished = {event.step: event.detail for event in told if isinstance(event, StepFinished)}
    assert finished["check:./data/train.jsonl"] == "32 rows"
    assert finished["upload:./data/train.jsonl"] == uploaded.training_ids[0]
    assert any(isinstance(event, StepProgress) and event.step == "upload:./data/valid.jsonl" for event in told)


async def test_events_come_on_the_loops_thread(client, workspace):
    threads = set()
    await client.init(workspace / "job.yaml").run(on_event=lambda event: threads.add(threading.get_ident()))
    assert threads == {threading.get_ident()}


async def test_single_name_is_one_file(service, client, data):
    uploaded = await client.upload_datasets(training_files=data("a.jsonl"))
    assert [service.files[file_id]["name"] for file_id in uploaded.training_ids] == ["a.jsonl"]
    assert uploaded.validation_ids == []


async def test_validation_files_alone_are_uploaded(service, client, data):
    uploaded = await client.upload_datasets(validation_files=[data("v.jsonl")])
    assert uploaded.training_ids == []
    assert len(uploaded.validation_ids) == 1


async def test_result_is_a_pair(client, data):
    training, validation = await client.upload_datasets(
        training_files=[data("a.jsonl")], validation_files=[data("b.jsonl")]
    )
    assert len(training) == len(validation) == 1


async def test_missing_file_is_named_and_nothing_is_sent(service, client, data, tmp_path):
    with pytest.raises(errors.InputError, match=r"gone\.jsonl does not exist"):
        await client.upload_datasets(training_files=[data("a.jsonl"), str(tmp_path / "gone.jsonl")])
    assert not service.requests("POST")


async def test_rows_with_errors_are_refused_with_their_places(service, client, data):
    path = data("bad.jsonl", ROW + '{"messages": "no"}\n' + "not json\n")
    with pytest.raises(errors.ConfigError, match=r"bad\.jsonl has 2 errors") as caught:
        await client.upload_datasets(training_files=path)
    assert [problem.line for problem in caught.value.diagnostics] == [2, 3]
    assert "force" in caught.value.advice
    assert not service.seen


async def test_rows_with_errors_are_sent_when_forced(service, client, data):
    path = data("bad.jsonl", ROW + "not json\n")
    uploaded = await client.upload_datasets(training_files=path, force=True)
    assert len(uploaded.training_ids) == 1


async def test_empty_file_is_never_sent(service, client, data):
    for force in (False, True):
        with pytest.raises(errors.InputError, match="is empty"):
            await client.upload_datasets(training_files=data("empty.jsonl", ""), force=force)
    assert not service.seen


async def test_given_id_wins_over_a_file_name(service, client, data):
    uploaded = await client.upload_datasets(TrainingDataset(file_name=data("a.jsonl"), file_id="file-given"))
    assert uploaded.training_ids == ["file-given"]
    assert not service.seen


async def test_file_named_twice_is_sent_once(service, client, data):
    path = data("a.jsonl")
    uploaded = await client.upload_datasets([TrainingDataset(file_name=path), ValidationDataset(file_name=path)])
    assert uploaded.training_ids == uploaded.validation_ids
    assert len(service.files) == 1


async def test_other_sources_need_no_upload(service, client):
    given = [
        TrainingDataset(data_source_type=DataSourceType.DOWNLOAD_URL, download_url="http://x/y.jsonl"),
        TrainingDataset(data_source_type=DataSourceType.OSS_MOUNT, mount_storage={"bucket": "b"}),
    ]
    assert await client.upload_datasets(given) == ([], [])
    assert not service.seen


async def test_testing_data_sets_are_left_out_aloud(service, client, data):
    told = []
    await client.upload_datasets([Dataset(type="testing", file_name=data("t.jsonl"))], on_event=told.append)
    assert not service.files
    assert next(event.text for event in told if isinstance(event, Note)).endswith("take no part in a job")


async def test_second_file_that_fails_leaves_the_id_of_the_first(service, client, data):
    answer = service.answer

    def choose(seen):
        if b"bad.jsonl" in seen.body:
            return 400, {"code": "InvalidParameter", "message": "not for us"}
        return answer(seen)

    service.answer = choose
    good, bad = data("good.jsonl"), data("bad.jsonl")
    with pytest.raises(errors.UploadError, match="not for us") as caught:
        await client.upload_datasets(training_files=[good, bad])
    assert caught.value.uploaded == {good: "file-1"}
    assert "file-1" in caught.value.advice


async def test_nothing_to_upload_is_said(client):
    with pytest.raises(errors.InputError, match="no data set to upload"):
        await client.upload_datasets()
    with pytest.raises(errors.InputError, match="needs a file_name"):
        await client.upload_datasets([TrainingDataset()])
