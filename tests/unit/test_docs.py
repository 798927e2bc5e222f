import pytest

from agentic_rl_tui.app.docs.generate import FOLDER, pages


@pytest.mark.parametrize("name", sorted(pages()))
def test_a_reference_page_is_what_the_code_says(name: str) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert written == pages()[name], "run: python -m agentic_rl_tui.app.docs.generate"


def test_the_sdk_page_explains_the_documented_calls() -> None:
    page = pages()["sdk.md"]
    for call in (
        "register_functions",
        "test_functions",
        "upload_datasets",
        "submit_job",
        "run",
        "get",
        "cancel",
        "logs",
    ):
        assert f"await {call}(" in page
