"""Which names each module under ``dashscope`` offers, and which of our modules holds each."""

from __future__ import annotations

_OURS = "agentic_rl_tui.core.functions.processors"
_R = "dashscope.finetune.reinforcement"


def _words(text: str) -> list[str]:
    return text.split()


OBSERVABILITY = f"{_OURS}.observability"
"""Which module answers for the tracing names."""

_BASE_DATA = _words("BaseDataModel TaskStatus ModelProtocol Task Resource ModelResource RequestMetadata AgentOutput")
_DATA = [
    *_BASE_DATA,
    *_words("RewardInput RolloutInput GroupRewardInput Reward RewardOutput RolloutOutput GroupReward"),
    "GroupRewardOutput",
]
_PROCESSORS = _words("AbstractProcessor AbstractRewardProcessor AbstractRolloutProcessor AbstractGroupRewardProcessor")
_DECORATORS = _words(
    "reward_func sub_reward_func aggregate_func RewardProcessorMeta SubRewardFunction AggregateFunction"
)
_PARSERS = _words("BaseRequestParser RewardRequestParser RolloutRequestParser GroupRewardRequestParser")
_DEMOS = _words("DemoRewardProcessor DemoRolloutProcessor DemoGroupRewardProcessor")
_ENUMS = _words("FunctionType TaskStatus ModelProtocol StatusType DatasetsType DataSourceType TrainingType")
_ERRORS = _words(
    """
    AgenticRLError InputError OutputError BaseConnectionError OSSConnectionError OSSUploadError DeploymentError
    RegistrationError FunctionLoadError InstanceWarmupError InstanceQueryError FunctionLayerError DatasetsError
    ValidationError ConfigurationError BasePermissionError IOErrorWithCode RuntimeErrorWithCode ValueErrorWithCode
    """
)
_CONSTANTS = _words(
    """
    BAILIAN_FILE_API BAILIAN_FILE_TIMEOUT DASHSCOPE_API_KEY DASHSCOPE_HTTP_BASE_URL LOG_LEVEL FC_API_KEY FC_DELETE_API
    FC_FILES_START FC_LOAD_API FC_PYPI_LIB FC_PYPI_REPO FC_QUERY_API FC_QUERY_LOG_API FC_REGISTER_REWARD_API
    FC_REGISTER_ROLLOUT_API FC_REGISTER_GROUP_REWARD_API FC_SERVER_CLASSPATH FC_UPLOAD_OSS_API FC_WORKERS_COUNT
    FC_LAYER_CREATE_API FC_LAYER_QUERY_API FC_LAYER_USED FC_LAYER_NAME FC_REQUIREMENTS_FILE FC_ZIP_EXCLUDE_PATTERNS
    FC_OSS_FILE_SIZE_WARNING DATASETS_FILE_SIZE_WARNING HTTP_REQUEST_TIMEOUT LOGGER_FILTER_FIELDS
    """
)
_MORE_CONSTANTS = _words("LOGGER_NAME ENABLE_TRAJECTORY get_bool_env get_int_env")
_HELPERS = _words(
    """
    check_file client_fc create_deployment_files deep_mask generate_random_id get_filepath_classname set_api_key
    to_bailian_data upload_zip_to_oss_and_by_signed_url zip_dir get_func_type_id deep_remove_none
    extract_reward_weights get_weights_from_file serialize_for_output
    """
)
_WIRE = _words("FileSpec Status RequestFC ResponseFC")
_JOB = _words(
    """
    Models FunctionComponentModel FunctionComponentRuntime AgenticRLFunctionComponent RolloutFunctionComponent
    RewardFunctionComponent GroupRewardFunctionComponent Dataset TrainingDataset ValidationDataset Datasets
    MountStorage Training FoundationModel Observability TuningModel AgenticRLTuning
    """
)
_TRACING = _words(
    """
    AGENTIC_RL_ATTEMPT_ID_BAGGAGE_KEY AGENTIC_RL_ROLLOUT_ID_BAGGAGE_KEY AGENTIC_RL_SAMPLE_ID_BAGGAGE_KEY
    apply_processor_span_attributes_after apply_processor_span_attributes_before current_trace_id_hex
    ensure_agentic_rl_baggage_span_processor get_tracer is_tracing_enabled log_trace_id rollout_context
    resolve_processor_func_type_for_span span_payload_preview trace_processor_process async_trace_processor_process
    """
)
_MORE_TRACING = _words(
    """
    ForceFlushMode current_span_ids_hex get_upstream_trace_linkage set_upstream_trace_linkage
    reset_upstream_trace_linkage maybe_force_flush maybe_force_flush_async
    """
)
_SPANS = _words("observe_processor trace_processor_span")
_LLM_SPANS = _words("genai_llm_span observe_llm run_with_genai_llm_span")
_TOOL_SPANS = _words("observe_tool trace_tool")
_MESSAGES = _words(
    """
    dashscope_response_to_output_messages openai_chat_messages_to_input_messages openai_completion_to_output_messages
    """
)
_MORE_MESSAGES = _words("tool_calls_to_parts unwrap_openai_completion")
_CORE = _words(
    """
    GENAI_AVAILABLE ExecuteToolInvocation InputMessage OutputMessage Text ToolCall Reasoning NoopHandler
    SafeHandlerProxy SafeInvocationProxy SafeSpanProxy get_handler to_jsonable
    """
)
_CLIENTS = _words("instrument_dashscope_generation_call instrument_openai_chat_completions")
_GENAI = [*_LLM_SPANS, *_TOOL_SPANS, *_MESSAGES, *_CLIENTS, "trace_client"]
_OBSERVE = [*_TRACING, *_SPANS, *_GENAI]

_HOMES: dict[str, list[str]] = {
    f"{_OURS}.models": [name for name in _DATA if name not in _ENUMS],
    f"{_OURS}.enums": _ENUMS,
    f"{_OURS}.base": _PROCESSORS,
    f"{_OURS}.decorators": _DECORATORS,
    f"{_OURS}.parsers": _PARSERS,
    f"{_OURS}.manager": ["FuncManager"],
    f"{_OURS}.demo": _DEMOS,
    f"{_OURS}.log": ["logger"],
    f"{_OURS}.errors": _ERRORS,
    f"{_OURS}.constants": [*_CONSTANTS, *_MORE_CONSTANTS],
    f"{_OURS}.helpers": [*_HELPERS, "app"],
    f"{_OURS}.jobmodels": [*_WIRE, *_JOB],
    OBSERVABILITY: [*_OBSERVE, *_MORE_TRACING, *_MORE_MESSAGES, *_CORE],
    "agentic_rl_tui.core": ["AgenticRL"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_TOP = [
    *_CONSTANTS,
    *(name for name in _ERRORS if name != "DatasetsError"),
    *_HELPERS,
    *(name for name in _ENUMS if name != "ModelProtocol"),
    *_WIRE,
    *_JOB,
    *_words("RolloutInput RolloutOutput RewardInput RewardOutput GroupRewardInput GroupRewardOutput GroupReward"),
    *_words("Reward AgentOutput reward_func sub_reward_func aggregate_func RewardProcessorMeta"),
    *_words("AbstractRolloutProcessor AbstractRewardProcessor AbstractGroupRewardProcessor logger app"),
]
_COMPONENT = [
    *_words("BaseRequestParser BaseDataModel TaskStatus ModelProtocol Task Resource AgentOutput FuncManager"),
    *_words("reward_func sub_reward_func aggregate_func RewardInput RolloutInput Reward RewardOutput RolloutOutput"),
    *_words("RewardRequestParser RolloutRequestParser AbstractRewardProcessor AbstractRolloutProcessor"),
    *_words("DemoRewardProcessor DemoRolloutProcessor observe_processor"),
]

_UNDER_R: dict[str, list[str]] = {
    "common": [],
    "common.constants": [*_CONSTANTS, *_MORE_CONSTANTS],
    "common.errors": _ERRORS,
    "common.log": ["logger"],
    "common.model": [*_JOB, "FunctionType", "DatasetsType", "DataSourceType", "TrainingType"],
    "common.model_types": [*(name for name in _ENUMS if name not in {"TaskStatus", "ModelProtocol"}), *_WIRE],
    "common.utils": _HELPERS,
    "component": _COMPONENT,
    "component.data": _DATA,
    "component.data.base_data_model": _BASE_DATA,
    "component.data.rollout_input": ["RolloutInput"],
    "component.data.rollout_output": ["RolloutOutput"],
    "component.data.reward_input": ["RewardInput"],
    "component.data.reward_output": ["Reward", "RewardOutput"],
    "component.data.group_reward_input": ["GroupRewardInput"],
    "component.data.group_reward_output": ["GroupReward", "GroupRewardOutput"],
    "component.processor": _PROCESSORS,
    "component.processor.abstract_processor": ["AbstractProcessor"],
    "component.processor.abstract_rollout_processor": ["AbstractRolloutProcessor"],
    "component.processor.abstract_reward_processor": ["AbstractRewardProcessor"],
    "component.processor.abstract_group_reward_processor": ["AbstractGroupRewardProcessor"],
    "component.parser": _PARSERS,
    "component.parser.base_parser": ["BaseRequestParser"],
    "component.parser.rollout_parser": ["RolloutRequestParser"],
    "component.parser.reward_parser": ["RewardRequestParser"],
    "component.parser.group_reward_parser": ["GroupRewardRequestParser"],
    "component.func_decorator": _DECORATORS,
    "component.func_manager": ["FuncManager"],
    "component.demo": _DEMOS,
    "component.demo.rollout_processor_demo": ["DemoRolloutProcessor"],
    "component.demo.reward_processor_demo": ["DemoRewardProcessor"],
    "component.demo.group_reward_processor_demo": ["DemoGroupRewardProcessor"],
    "component.observability": _OBSERVE,
    "component.observability.tracing": [*_TRACING, *_MORE_TRACING],
    "component.observability.processor_span": _SPANS,
    "component.observability.genai": _GENAI,
    "component.observability.genai.messages": [*_MESSAGES, *_MORE_MESSAGES],
    "component.observability.genai._core": _CORE,
    "component.observability.genai.llm_span": _LLM_SPANS,
    "component.observability.genai.llm_openai": ["instrument_openai_chat_completions"],
    "component.observability.genai.llm_dashscope": ["instrument_dashscope_generation_call"],
    "component.observability.genai.tools": _TOOL_SPANS,
}
MODULES: dict[str, list[str]] = {
    "dashscope": ["AgenticRL"],
    "dashscope.finetune": [],
    "dashscope.finetune.agentic_rl": ["AgenticRL"],
    _R: _TOP,
    **{f"{_R}.{module}": names for module, names in _UNDER_R.items()},
}


def home_of(module: str, name: str) -> str | None:
    """Our module that holds a name of theirs; None where the module does not offer it."""
    return _HOME_OF.get(name) if name in MODULES.get(module, ()) else None
