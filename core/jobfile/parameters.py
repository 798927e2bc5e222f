"""The tables of hyper-parameters and resources."""

from agentic_rl_tui.core.i18n import N_
from agentic_rl_tui.core.jobfile.keys import OPD_PAGE, OVERVIEW_PAGE, TRAINING_PAGE, Key, Kind, count, table

ALGORITHMS = ("gspo", "grpo", "dapo")
SCHEDULERS = ("cosine", "linear", "constant")
SAVE_STRATEGIES = ("steps", "epoch", "no")

_TRAINING_KEYS = (
    Key(
        "algorithm",
        Kind.CHOICE,
        N_(
            "How advantages become updates. gspo works on whole answers and is the service's default; grpo works on "
            "tokens and wants a larger kl_loss_coef (about 0.04); dapo clips higher and wants kl_loss_coef 0."
        ),
        "gspo",
        choices=ALGORITHMS,
        source=TRAINING_PAGE,
    ),
    Key(
        "kl_loss_coef",
        Kind.NUMBER,
        N_("How strongly the policy is held to its start. About 0.001 for gspo, 0.04 for grpo, 0 for dapo."),
        low=0,
        high=10,
        source=TRAINING_PAGE,
    ),
    Key(
        "learning_rate",
        Kind.NUMBER,
        N_(
            "Step size of the optimizer. RL wants 1.0e-6 to 7.0e-6; values of supervised tuning (5.0e-5) wreck the "
            "policy."
        ),
        low=0,
        high=1,
        source=TRAINING_PAGE,
    ),
    Key(
        "lr_scheduler_type",
        Kind.CHOICE,
        N_("How the learning rate falls over the run. OPD takes cosine or constant."),
        choices=SCHEDULERS,
        source=TRAINING_PAGE,
    ),
    Key(
        "lr_warmup_steps",
        Kind.INT,
        N_("Steps during which the learning rate rises from 0; -1 lets the service choose. 0 for very small data."),
        "-1",
        low=-1,
        source=TRAINING_PAGE,
    ),
    count("n_epochs", 200, N_("How often the whole training set is gone through.")),
    count("batch_size", 100_000, N_("Prompts (data rows) of one step. The data set needs more rows than this.")),
    count("n_rollouts", 1_024, N_("Attempts at each prompt: the group whose rewards are compared with each other.")),
    count(
        "ppo_mini_batch_size",
        100_000,
        N_("Samples of one optimizer update; at most batch_size x n_rollouts."),
    ),
    count("max_length", 131_072, N_("Tokens of prompt and answer together.")),
    count("max_prompt_length", 131_072, N_("Tokens of the prompt; must leave room for the answer below max_length.")),
    count("eval_steps", 999_999, N_("Steps between two validations; total steps / 10 to 20 is usual.")),
    count("save_steps", 999_999, N_("Steps between two checkpoints; eval_steps x 2 to 3 is usual.")),
    Key(
        "save_strategy",
        Kind.CHOICE,
        N_("When checkpoints are written: every save_steps, after each epoch, or never."),
        choices=SAVE_STRATEGIES,
        source=TRAINING_PAGE,
    ),
    count("save_total_limit", 200, N_("Checkpoints that are kept; older ones are dropped.")),
)

_CLUSTER_KEYS = (
    count(
        "expert_model_parallel_size", 256, N_("Expert parallelism; above 1 only for mixture-of-experts models."), "1"
    ),
    Key(
        "inference_gpu_memory_utilization",
        Kind.NUMBER,
        N_("Share of the GPU memory that the sampling engine may take."),
        "0.7",
        above=0,
        high=1,
        source=TRAINING_PAGE,
    ),
    count("inference_tensor_parallel_size", 256, N_("Tensor parallelism of the sampling engine."), "2"),
    count("n_gpus_rollout", 1_024, N_("GPUs that sample."), "8"),
    count("n_gpus_training", 1_024, N_("GPUs that train: tensor x pipeline x data parallelism."), "8"),
    count("nnodes_rollout", 256, N_("Nodes that sample."), "1"),
    count("nnodes_training", 256, N_("Nodes that train."), "2"),
    count("pipeline_model_parallel_size", 256, N_("Pipeline parallelism of training."), "1"),
    count("sequence_parallel_size", 256, N_("Sequence parallelism of training."), "1"),
    count("tensor_model_parallel_size", 256, N_("Tensor parallelism of training."), "1"),
)

_TEACHER_KEYS = (
    count("opd_teacher_nnodes", 256, N_("Nodes of the teacher."), "1", OPD_PAGE),
    count("opd_teacher_n_gpus_per_node", 1_024, N_("GPUs of each teacher node."), "8", OPD_PAGE),
    count("opd_teacher_infer_tp", 256, N_("Tensor parallelism of the teacher."), "8", OPD_PAGE),
    Key(
        "opd_teacher_gpu_memory_utilization",
        Kind.NUMBER,
        N_("Share of the GPU memory that the teacher may take."),
        "0.75",
        above=0,
        high=1,
        source=OPD_PAGE,
    ),
    count("opd_teacher_max_model_len", 1_048_576, N_("Longest text the teacher reads, in tokens."), "34816", OPD_PAGE),
    count("opd_teacher_max_num_batched_tokens", 1_048_576, N_("Tokens the teacher reads at once."), "4096", OPD_PAGE),
    count("opd_teacher_max_num_seqs", 65_536, N_("Texts the teacher reads at once."), "2", OPD_PAGE),
    count("opd_teacher_num_replicas", 1_024, N_("Copies of the teacher."), "1", OPD_PAGE),
)

HYPER_PARAMETERS = table(*_TRAINING_KEYS, *_CLUSTER_KEYS, *_TEACHER_KEYS)
ESSENTIAL = tuple(key.name for key in _TRAINING_KEYS)
"""Hyper-parameters that the service's pages call required; without them it trains at defaults nobody states."""

RESOURCES = table(
    Key(
        "charge_type",
        Kind.TEXT,
        N_("How the training units are paid; mtu_postpaid bills by the minute."),
        source=OVERVIEW_PAGE,
    ),
    Key("mtu_spec_code", Kind.TEXT, N_("Kind of training unit; MTU4 is the usual one."), source=OVERVIEW_PAGE),
    count(
        "mtu_capacity",
        100_000,
        N_("Number of training units; 24 for a 9B model, 72 for flash models."),
        "",
        OVERVIEW_PAGE,
    ),
)
