"""The table of rules: what is checked, why, who says so and when that was read.

Where the sources contradict each other, `why` names both and says what is assumed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agentic_rl_tui.core.jobfile.diagnostics import Severity
from agentic_rl_tui.core.jobfile.keys import (
    CHECKLIST_PAGE,
    CLIENT,
    FUNCTION_PAGE,
    GUIDE,
    OPD_OVERVIEW_PAGE,
    OPD_PAGE,
    OVERVIEW_PAGE,
    TRAINING_PAGE,
)

READ_ON = "2026-12-01"
_YAML = "YAML 1.1 and 1.2"
_OURS = "agentic-rl-tui"


@dataclass(frozen=True, slots=True)
class Rule:
    """severity is the usual one; a check may lower it. date is when the source was read."""

    id: str
    severity: Severity
    title: str
    why: str
    source: str
    date: str = READ_ON

    @property
    def reason(self) -> str:
        """What a diagnostic carries: the reason with its source."""
        return f"{self.why} (source: {self.source}, {self.date})"


def _error(id: str, title: str, why: str, source: str = CLIENT) -> Rule:  # noqa: A002
    return Rule(id, Severity.ERROR, title, why, source)


def _warning(id: str, title: str, why: str, source: str = TRAINING_PAGE) -> Rule:  # noqa: A002
    return Rule(id, Severity.WARNING, title, why, source)


def _info(id: str, title: str, why: str, source: str = TRAINING_PAGE) -> Rule:  # noqa: A002
    return Rule(id, Severity.INFO, title, why, source)


_TEXT = (
    _error("encoding", "Not UTF-8", "The service's client reads job files as UTF-8 and stops at anything else."),
    _info("byte-order-mark", "Byte order mark", "It is accepted, but other tools may take it for part of a key."),
    _info("line-ends", "Mixed line ends", "Some lines end in CRLF, others in LF; diffs and editors stumble.", _OURS),
    _error("yaml-syntax", "YAML syntax", "A YAML reader stops here and reads nothing of the file.", _YAML),
    _error("yaml-tab", "Tab in the indentation", "YAML allows only spaces in front of a key.", _YAML),
    _error("yaml-empty", "Empty file", "An empty job file makes the service's client fail with a Python error."),
    _error("yaml-documents", "Several documents", "A job file is one YAML document; a second one is refused."),
    _error("yaml-mapping", "Not a mapping", "A job file is a list of keys with values, such as 'model:'."),
    _error("yaml-duplicate", "Key given twice", "The last one wins without a word, so the first one misleads."),
    _error("yaml-key", "Not a usable key", "Keys of a job file are single texts.", _YAML),
    _error("yaml-alias", "Alias loop", "An alias that leads back to itself, or to far too much, has no value.", _OURS),
    _error("yaml-merge", "Unusable merge", "'<<' takes a mapping or a list of mappings.", _YAML),
    _error("yaml-tag", "Unknown tag", "The service's client reads plain YAML and refuses tags of its own making."),
    _error("yaml-depth", "Nested too deeply", "No job file needs more than a few levels.", _OURS),
    _warning(
        "number-as-text",
        "Number that YAML reads as text",
        "YAML 1.1, which the service's client uses, takes a number with an exponent for text unless it has a decimal "
        "point and a signed exponent. The job then carries a text where a number is meant.",
        CLIENT,
    ),
    _warning(
        "ambiguous-value",
        "Value with two readings",
        "YAML 1.1 and 1.2 read this differently, and so do the programs that read this file.",
        _YAML,
    ),
    _warning("quoted-number", "Number in quotes", "It is sent as text; a number is meant here.", CLIENT),
)

_SCHEMA = (
    _error(
        "unknown-key",
        "Unknown key",
        "The service's client refuses keys it does not know. A key that begins with 'x-' is let through unchecked.",
    ),
    _warning(
        "unknown-parameter",
        "Unknown parameter",
        "The service ignores parameters it does not know, and trains at its default without a word. A key that begins "
        "with 'x-' is sent without the prefix, unchecked.",
        OPD_PAGE,
    ),
    _info("foreign-key", "Key of your own", "This program ignores it; the service's own client refuses it.", CLIENT),
    _error("wrong-type", "Wrong type", "The value cannot be used as what the key stands for."),
    _error("out-of-range", "Out of range", "The service allows only values of this range.", TRAINING_PAGE),
    _error("not-a-choice", "Not one of the choices", "The service knows only these values."),
    _error("null-value", "Empty value", "An empty value here makes the service's client fail; leave the key out."),
    _error("name-length", "Length of the name", "The service takes names of 1 to 256 characters."),
)

_MODEL = (
    _error("model-missing", "No model", "Without model.name nothing says what to train; the service answers 400."),
    _info("model-unlisted", "Model not listed", "The service's pages do not list it for this use.", OVERVIEW_PAGE),
    _error(
        "moe-algorithm",
        "Mixture of experts needs gspo",
        "Token-level algorithms are unstable when routing changes from token to token.",
        TRAINING_PAGE,
    ),
    _error("expert-parallel-dense", "Expert parallelism", "A dense model has no experts to spread out.", TRAINING_PAGE),
)

_TRAINING = (
    _warning(
        "parameters-missing",
        "Hyper-parameters missing",
        "The service's pages disagree on which are required (11 or 15) and state no defaults; what is left out is "
        "trained at values you do not see.",
        f"{TRAINING_PAGE} and {OVERVIEW_PAGE}",
    ),
    _error(
        "mini-batch",
        "Mini batch larger than the step",
        "ppo_mini_batch_size <= batch_size x n_rollouts: a step has no more samples than that.",
        TRAINING_PAGE,
    ),
    _error(
        "rows-batch",
        "Too few rows",
        "Training rows must be more than batch_size; the service fails about ten minutes after the start.",
        f"{OVERVIEW_PAGE} and {CHECKLIST_PAGE}",
    ),
    _error(
        "gpu-product",
        "GPUs do not divide",
        "n_gpus_training = tensor x pipeline x data parallelism, so tensor x pipeline must divide it.",
        TRAINING_PAGE,
    ),
    _warning("gpu-inference", "Sampling GPUs", "An engine of this tensor parallelism needs as many GPUs."),
    _error(
        "prompt-length",
        "No room for an answer",
        "max_length counts prompt and answer together, so max_prompt_length must be smaller.",
        TRAINING_PAGE,
    ),
    _warning("lr-high", "Learning rate of supervised tuning", "RL at 5.0e-5 or more wrecks the policy in a few steps."),
    _warning("lr-zero", "Learning rate 0", "Nothing is learnt at learning rate 0."),
    _warning("epochs-many", "Many epochs", "With 10 or more the policy learns the rows by heart."),
    _warning("kl-zero", "No KL penalty", "Without it the policy drifts into gibberish; only dapo works without."),
    _info("kl-dapo", "KL penalty with dapo", "dapo is made to run without one."),
    _warning("rollouts-one", "One rollout a prompt", "The advantage compares attempts; a single one has none."),
    _warning("length-large", "Very long max_length", "32K 'to be safe' costs memory and time on every sample."),
    _warning("eval-never", "Validation never runs", "eval_steps lies beyond the last step."),
    _info(
        "eval-often", "Validation very often", "eval_steps of total steps / 10 to 20 is enough; each one costs time."
    ),
    _warning("save-never", "No checkpoint before the end", "save_steps lies beyond the last step."),
    _info("save-often", "Checkpoints more often than validations", "save_steps is usually eval_steps x 2 to 3."),
    _info(
        "units-few",
        "Fewer training units than advised",
        "The service's pages advise more for this model.",
        OVERVIEW_PAGE,
    ),
)

_OPD = (
    _error("teacher-missing", "No teacher", "pg_opd learns from a teacher; the service's client stops without one."),
    _warning(
        "teacher-type",
        "A teacher makes the job OPD",
        "The service's client sends pg_opd whenever there is a teacher, whatever the type says.",
        CLIENT,
    ),
    _error(
        "teacher-family",
        "Teacher of another family",
        "Teacher and student need the same tokenizer: the same family of models.",
        OPD_OVERVIEW_PAGE,
    ),
    _warning("teacher-weak", "Teacher not stronger", "A student learns nothing from its equal.", OPD_OVERVIEW_PAGE),
    _warning("teacher-unlisted", "Teacher not listed", "The service refuses ids it does not offer.", OPD_OVERVIEW_PAGE),
    _warning("student-unlisted", "Student not listed", "The service offers OPD for few models.", OPD_OVERVIEW_PAGE),
    _error("opd-algorithm", "OPD runs on gspo", "OPD takes no other algorithm.", OPD_PAGE),
    _error("opd-scheduler", "Scheduler of OPD", "OPD takes cosine or constant.", OPD_PAGE),
    _error("opd-save", "Checkpoints of OPD", "OPD takes steps or epoch.", OPD_PAGE),
    _info("opd-kl", "KL penalty in OPD", "OPD does not use kl_loss_coef; the teacher takes its place.", OPD_PAGE),
    _info(
        "opd-keys", "Teacher settings without a teacher", "They do nothing in a job without teacher_model.", OPD_PAGE
    ),
)

_FUNCTIONS = (
    _error("rollout-missing", "No rollout", "RL needs a rollout function; only OPD samples by itself.", GUIDE),
    _error(
        "reward-missing",
        "No reward",
        "RL needs at least one reward. One page of the service calls it optional where the rollout sets "
        "AgentOutput.reward_score; the guide does not, and so it is an error here.",
        GUIDE,
    ),
    _error("rollout-several", "Several rollouts", "The first one is used; the others are registered, then dropped."),
    _error("type-missing", "No type", "The service's client takes a function without type for a rollout."),
    _error("name-twice", "Name given twice", "Each function needs its own name."),
    _error("class-missing", "No class", "A function needs fcmodel.classpath, or the entity_id of a registered one."),
    _error(
        "classpath-form",
        "Not a class path",
        "A class is named as pkg.module.Class, pkg.module:Class or path/file.py:Class.",
        GUIDE,
    ),
    _info(
        "classpath-colon",
        "Class path only this program reads",
        "The guide names the form pkg.module:Class, but the service's own client looks for a file of that name.",
        CLIENT,
    ),
    _error("class-file", "File of the class missing", "The package would hold no such file.", GUIDE),
    _error("class-unknown", "Class not found", "The function would fail as soon as it is loaded.", GUIDE),
    _error(
        "class-kind", "Class of another kind", "Its process() takes other input than this type of function gets.", GUIDE
    ),
    _error("class-abstract", "Abstract class", "It cannot be made into an object.", FUNCTION_PAGE),
    _warning("weight-unused", "Weight without effect", "Weights belong to rewards.", CLIENT),
    _warning("weight-zero", "Weights sum to nothing", "Rewards of weight 0 take no part in the total.", FUNCTION_PAGE),
    _warning(
        "weight-negative", "Negative weight", "A negative weight punishes what the reward praises.", FUNCTION_PAGE
    ),
    _error(
        "metric-unknown",
        "No such sub-reward",
        "A weight for a name that the reward does not have does nothing.",
        FUNCTION_PAGE,
    ),
    _error("requirements-missing", "Requirements missing", "The package needs its requirements.txt.", GUIDE),
    _error("extra-missing", "Extra file missing", "The service's client only warns, and the function fails later."),
    _warning("path-outside", "Path outside the folder", "It exists only on this machine.", _OURS),
    _error(
        "list-length", "Lists of different length", "Runtimes, names and weights belong to functions one by one.", GUIDE
    ),
)

_RUNTIME = (
    _warning(
        "memory-small",
        "Very little memory",
        "memory_size counts MB. The guide's own sample says 4, which is 4 MB; the configuration page advises 4096.",
        f"{TRAINING_PAGE} and {GUIDE}",
    ),
    _info("memory-low", "Little memory", "The service's page advises 4096 MB or more."),
    _warning("disk-small", "Very little disk", "disk_size counts MB; the service's page advises 512 or more."),
    _info("runtime-default", "Defaults of the service", "Its stated defaults are 10 MB of memory and of disk."),
    _error("capacity-order", "Capacities out of order", "min_capacity <= capacity <= max_capacity.", TRAINING_PAGE),
    _warning(
        "threshold-percent",
        "Threshold in percent",
        "The configuration page counts from 0 to 1, a description in the service's client from 0 to 100. Its own "
        "example says 0.6, so a share is assumed.",
        f"{TRAINING_PAGE} and {CLIENT}",
    ),
    _warning(
        "throughput",
        "Function slower than the training",
        "concurrency x capacity >= 1.2 x calls a step / seconds a step; the training waits for the function otherwise.",
    ),
    _warning(
        "secret",
        "Secret in the file",
        "The file is shared and the values of env are stored with the job and shown by the service's client.",
        CLIENT,
    ),
)

_DATA = (
    _error("training-data-missing", "No training data", "The service answers 400 without a training data set.", GUIDE),
    _warning("validation-missing", "No validation data", "Without it nothing shows whether the policy generalises."),
    _warning(
        "testing-unused", "testing is never sent", "The service's client uploads the file, then drops it.", CLIENT
    ),
    _error("file-missing", "File not found", "The service's client only logs it and goes on without the file."),
    _warning("file-type", "Not a JSONL file", "The service takes JSON lines: one object a line.", OVERVIEW_PAGE),
    _warning("file-both", "file_id and file_name", "The service's client uploads the file and drops file_id.", CLIENT),
    _error("source-empty", "Data set without data", "An entry without a file is sent as it is, and the job fails."),
    _error(
        "source-mismatch", "Source and place differ", "data_source_type says where to look; nothing is found there."
    ),
    _warning("data-shared", "Same data twice", "Validation on training rows shows memory, not skill.", CHECKLIST_PAGE),
    _error("override", "Value from outside the file", "An option or argument does not fit the job file.", _OURS),
)

RULES: Mapping[str, Rule] = MappingProxyType(
    {rule.id: rule for rule in (*_TEXT, *_SCHEMA, *_MODEL, *_TRAINING, *_OPD, *_FUNCTIONS, *_RUNTIME, *_DATA)}
)
