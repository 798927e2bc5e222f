"""Guessing what a misspelt name was meant to be."""

from collections.abc import Iterable
from difflib import SequenceMatcher

_ALIASES = {
    "lr": "learning_rate",
    "epochs": "n_epochs",
    "num_epochs": "n_epochs",
    "num_train_epochs": "n_epochs",
    "epoch": "n_epochs",
    "train_batch_size": "batch_size",
    "group_size": "n_rollouts",
    "num_rollouts": "n_rollouts",
    "num_generations": "n_rollouts",
    "kl_coef": "kl_loss_coef",
    "beta": "kl_loss_coef",
    "mini_batch_size": "ppo_mini_batch_size",
    "lr_scheduler": "lr_scheduler_type",
    "scheduler": "lr_scheduler_type",
    "warmup_steps": "lr_warmup_steps",
    "max_seq_length": "max_length",
    "job_name": "name",
    "base_model": "model",
    "teacher": "teacher_model",
    "hyperparameters": "hyper_parameters",
    "hyperparams": "hyper_parameters",
    "hparams": "hyper_parameters",
    "resource_config": "resources",
    "train": "training",
    "function": "functions",
    "dataset": "datasets",
    "data": "datasets",
    "memory": "memory_size",
    "mem": "memory_size",
    "disk": "disk_size",
    "min_instances": "min_capacity",
    "max_instances": "max_capacity",
    "environment": "env",
    "envs": "env",
    "class_path": "classpath",
    "requirements": "requirements_path",
    "zip_dir": "zipdir",
    "path": "file_name",
    "file": "file_name",
    "filename": "file_name",
    "url": "download_url",
    "kind": "type",
    "capacity_units": "mtu_capacity",
}
_CLOSE = 0.75
_MAX_LENGTH = 60


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` most likely stands for, or None when nothing is near."""
    if len(name) > _MAX_LENGTH:
        return None
    names = tuple(known)
    plain = _plain(name)
    by_plain = {_plain(candidate): candidate for candidate in names}
    if plain in by_plain:
        return by_plain[plain]
    alias = _ALIASES.get(plain)
    if alias in names:
        return alias
    best, best_ratio = None, _CLOSE
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(plain)
    for candidate in names:
        if abs(len(candidate) - len(plain)) > max(3, len(plain) // 2):
            continue
        matcher.set_seq1(candidate)
        if matcher.quick_ratio() > best_ratio and (ratio := matcher.ratio()) > best_ratio:
            best, best_ratio = candidate, ratio
    return best


def _plain(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
