"""How a file of rollouts looks."""

import json
from pathlib import Path
from typing import Any

QUESTIONS = ("What is 6 times 7?", "一个篮子里有 12 个苹果，拿走 5 个，还剩几个？")
ANSWERS = ("Let me see.", "It is 42.", "答案是 7。", "I cannot tell.")


def test_the_samples_of_a_file(look: Any, scenes: Any, workspace: Path) -> None:
    rows = [
        json.dumps({"input": question, "output": ANSWERS[(step + n) % 4], "score": (n * place) % 3 / 2, "step": step})
        for step in (1, 2)
        for place, question in enumerate(QUESTIONS)
        for n in range(4)
    ]
    folder = workspace / "dumps"
    folder.mkdir()
    (folder / "rollouts.jsonl").write_text("\n".join(rows) + "\n")
    app = scenes.app(scenes.sample_backend(), workspace, start_place="workspace", workspace_shown="~/calc-agent")
    keys = ("alt+t", "r", "o", "l", "l", "o", "enter", "enter")
    assert look(app, (80, 24), *keys)
