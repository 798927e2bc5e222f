"""``import dashscope`` in an interpreter that lacks it."""

import subprocess
import sys
import textwrap

from agentic_rl_tui.core.functions.worker.alias_names import MODULES, home_of


def run(code: str) -> str:
    """Run code in a fresh interpreter that answers for the vendor's package, and give back what it prints."""
    head = "from agentic_rl_tui.core.functions.worker import alias\nalias.install()\n"
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_name_of_every_module_has_a_home() -> None:
    homeless = [f"{module}.{name}" for module, names in MODULES.items() for name in names if not home_of(module, name)]
    assert homeless == []
    assert len(MODULES["dashscope.finetune.reinforcement"]) == 107
    assert len(MODULES["dashscope.finetune.reinforcement.component"]) == 23
    assert len(MODULES["dashscope.finetune.reinforcement.component.data"]) == 16
    assert len(MODULES["dashscope.finetune.reinforcement.component.observability"]) == 28
    assert len(MODULES["dashscope.finetune.reinforcement.component.observability.genai"]) == 11


def test_every_name_can_be_imported_without_telemetry() -> None:
    out = run("""
        import importlib, sys
        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] == "opentelemetry":
                    raise ImportError(f"{name} is blocked")
        sys.meta_path.insert(0, Blocked())
        from agentic_rl_tui.core.functions.worker.alias_names import MODULES
        count = 0
        for module, names in MODULES.items():
            loaded = importlib.import_module(module)
            for name in names:
                if name != "AgenticRL":
                    getattr(loaded, name)
                    count += 1
        print(count)
    """)
    assert int(out) > 300


def test_the_usual_ways_to_import() -> None:
    run("""
        import dashscope
        import dashscope.finetune.reinforcement as rl
        from dashscope.finetune.reinforcement import *
        from dashscope.finetune.reinforcement.component import FuncManager, observe_processor
        from dashscope.finetune.reinforcement.component.data.reward_output import Reward as R2
        from dashscope.finetune.reinforcement.component.processor import abstract_reward_processor
        from dashscope.finetune.reinforcement.common.log import logger
        assert dashscope.finetune.reinforcement is rl
        assert Reward is R2 is rl.Reward
        assert AbstractRewardProcessor is abstract_reward_processor.AbstractRewardProcessor
        assert logger.name == "dashscope.finetune.reinforcement"
        assert "RewardOutput" in dir(rl) and len(rl.__all__) == 107
    """)


def test_what_the_stand_in_lacks_is_told() -> None:
    out = run("""
        import dashscope
        try:
            dashscope.Generation
        except AttributeError as error:
            print(error)
        try:
            from dashscope.finetune.reinforcement import no_such_name
        except ImportError as error:
            print(error)
    """)
    assert "list dashscope in requirements.txt" in out
    assert "cannot import name 'no_such_name'" in out


def test_importing_costs_no_more_than_is_used() -> None:
    out = run("""
        import sys
        from dashscope.finetune.reinforcement import RewardInput, RewardOutput, reward_func, logger
        heavy = {"asyncio", "httpx", "textual", "starlette", "opentelemetry", "yaml", "openai", "orjson"}
        print(sorted(heavy & set(sys.modules)))
    """)
    assert out.strip() == "[]"


def test_tracing_names_pass_everything_through_when_it_is_off() -> None:
    run("""
        import asyncio, os, sys
        os.environ["ENABLE_TRAJECTORY"] = "false"
        from dashscope.finetune.reinforcement.component.observability import *
        from dashscope.finetune.reinforcement.component.observability import genai
        class Client: pass
        client = Client()
        assert trace_client(client) is None and trace_tool([client]) is None
        assert instrument_openai_chat_completions(client) is client
        @observe_processor
        def plain(x): return x
        @observe_processor()
        def called(x): return x
        @observe_tool(name="calc")
        async def tool(x): return x
        @observe_llm
        def llm(**kw): return kw
        @trace_processor_span(logical_kind="reward")
        def span(x): return x
        assert plain(1) == called(1) == span(1) == asyncio.run(tool(1)) == 1
        assert llm(model="m") == {"model": "m"}
        assert run_with_genai_llm_span(lambda a, b: (a, b), 1, b=2, provider="p") == (1, 2)
        with rollout_context("r", "s"), genai_llm_span() as span_object:
            span_object.request_model = "m"
        assert current_trace_id_hex() is None and not is_tracing_enabled() and get_tracer() is None
        assert genai.trace_client is trace_client
        assert not any(name.partition(".")[0] == "opentelemetry" for name in sys.modules)
    """)


def test_helpers() -> None:
    run("""
        from dashscope.finetune.reinforcement import *
        assert deep_remove_none({"a": None, "b": [None, {"x": ""}, 1], "c": 0}) == {"b": [1], "c": 0}
        assert deep_mask({"api_key": "abc", "x": [{"password": "p", "n": 1}], "secret_key": None}) == {
            "api_key": "***", "x": [{"password": "***", "n": 1}], "secret_key": None
        }
        assert get_filepath_classname("a.b.C") == get_filepath_classname("a/b.py:C") == ("a/b.py", "C")
        assert get_func_type_id(FunctionType.GROUP_REWARD) == "group_reward_id"
        assert generate_random_id("x").startswith("x-") and len(generate_random_id()) == 36
        assert serialize_for_output([Reward(reward_score=1)]) == [{"reward_score": 1.0, "reward_metrics": None}]
        source = "class A:"
        for mark, name in (("'x', 0.5", "f"), ("", "g"), ("sub_weight=W", "h")):
            source += f"\\n  @sub_reward_func({mark})\\n  async def {name}(self, i): ..."
        assert extract_reward_weights(source, "A") == {"x": 0.5, "g": 1.0}
        tuning = TuningModel.load_from_dict({"functions": [{"type": "reward", "weight": 2}, {"name": "r"}]}, name="n")
        assert tuning.get_weights(FunctionType.REWARD) == [2.0] and tuning.get_names(FunctionType.ROLLOUT) == ["r"]
        try:
            app()
        except RuntimeErrorWithCode as error:
            assert "use AgenticRL instead" in str(error)
    """)


def test_errors_tell_code_time_and_cause() -> None:
    out = run("""
        from dashscope.finetune.reinforcement import *
        try:
            try:
                {}["key"]
            except KeyError as error:
                raise OSSUploadError("lost", bucket="b") from error
        except AgenticRLError as error:
            told = str(error).replace(error.timestamp, "T")
            print(told, error.bucket, error.endpoint, type(error.root_cause).__name__)
        print(RuntimeErrorWithCode("x", 7), ConfigurationError("y").error_code, FunctionLoadError("z").resource_id)
    """)
    assert out.splitlines() == [
        "[1320] OSS upload failed: lost (at T) (caused by: KeyError: 'key') b None KeyError",
        "[7] x 1510 None",
    ]
