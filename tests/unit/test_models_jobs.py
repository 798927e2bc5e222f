from agentic_rl_tui.core.models.jobs import Job


def test_unknown_fields_and_statuses_are_kept() -> None:
    job = Job.model_validate({"job_id": "ft-1", "status": "HIBERNATING", "new_field": [1]})
    assert job.status == "HIBERNATING"
    assert job.extra == {"new_field": [1]}
    assert not job.is_terminal


def test_nulls_where_lists_belong_are_empty() -> None:
    job = Job.model_validate(
        {
            "job_id": "ft-1",
            "status": None,
            "training_file_ids": None,
            "hyper_parameters": None,
            "validation_file_ids": None,
        }
    )
    assert job.status == "UNKNOWN"
    assert job.training_file_ids == []
    assert job.hyper_parameters == {}


def test_a_teacher_makes_a_job_opd() -> None:
    assert Job(job_id="a", training_type="pg_opd").is_opd
    assert Job(job_id="a", teacher_model="t").is_opd
    assert not Job(job_id="a", training_type="reinforcement").is_opd
