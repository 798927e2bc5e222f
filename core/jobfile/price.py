"""What a job may cost: list prices from one data file, times units, times hours. What is not known is said to be so."""

import math
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from agentic_rl_tui.core.i18n import N_, _
from agentic_rl_tui.core.jobfile.model import JobFile
from agentic_rl_tui.core.models.errors import ConfigError
from agentic_rl_tui.core.paths import config_dir

_OWN = Path(__file__).with_name("prices.toml")
_APART = N_("functions and traces are billed apart")
BILLED_BY = {"minute": N_("minute"), "hour": N_("hour")}


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """The price of one training unit for one hour."""

    code: str
    charge_types: tuple[str, ...]
    per_hour: float
    currency: str
    billed_by: str
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class Price:
    """per_hour is for all units of the job; total is None while nobody said how many hours it runs."""

    per_hour: float
    currency: str
    units: int
    hours: float | None
    total: float | None
    basis: str
    source: str
    date: str

    def __str__(self) -> str:
        if self.total is None:
            return _("{per_hour:,.2f} {currency} an hour").format(per_hour=self.per_hour, currency=self.currency)
        return _("{total:,.2f} {currency} for {hours:g} h").format(
            total=self.total, currency=self.currency, hours=self.hours
        )


@dataclass(frozen=True, slots=True)
class Unknown:
    """No price can be given; `reason` is a sentence."""

    reason: str

    def __str__(self) -> str:
        return _("unknown")


def load_prices(path: Path | None = None) -> tuple[UnitPrice, ...]:
    """The prices of a file, of the user's own file where there is one, else of the file that comes with the program.

    Raises ConfigError with the file's name when it cannot be used.
    """
    if path is None:
        own = config_dir() / "prices.toml"
        path = own if own.is_file() else _OWN
    stat = path.stat() if path.exists() else None
    return _load(path, stat.st_mtime_ns if stat else 0)


@lru_cache(maxsize=8)
def _load(path: Path, _changed_ns: int) -> tuple[UnitPrice, ...]:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return tuple(_unit(entry) for entry in table.get("unit", ()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            _("The price file {path} cannot be used: {error!r}.").format(path=path, error=error),
            advice=_("Correct it, or remove it to use list prices."),
        ) from error


def _unit(entry: dict[str, Any]) -> UnitPrice:
    price = float(entry["per_hour"])
    if not (price > 0 and math.isfinite(price)):
        raise ValueError(_("per_hour of {entry} must be more than 0").format(entry=entry["code"]))
    return UnitPrice(
        code=str(entry["code"]),
        charge_types=tuple(map(str, entry["charge_types"])),
        per_hour=price,
        currency=str(entry["currency"]),
        billed_by=str(entry["billed_by"]),
        source=str(entry["source"]),
        date=str(entry["date"]),
    )


def estimate(
    job: JobFile, *, hours: float | None = None, prices: tuple[UnitPrice, ...] | None = None
) -> Price | Unknown:
    """The price of a job on the service. hours: how long it may run; part minutes are billed as whole ones."""
    resources = job.training.resources
    code, charge, units = (resources.get(key) for key in ("mtu_spec_code", "charge_type", "mtu_capacity"))
    missing = [key for key in ("charge_type", "mtu_spec_code", "mtu_capacity") if resources.get(key) in (None, "")]
    if missing:
        return Unknown(_("training.resources says nothing of {missing}.").format(missing=", ".join(missing)))
    if not isinstance(units, int) or isinstance(units, bool) or units < 1:
        return Unknown(_("mtu_capacity is no whole number of units."))
    known = [unit for unit in (load_prices() if prices is None else prices) if unit.code == code]
    fitting = [unit for unit in known if charge in unit.charge_types]
    if not fitting:
        what = _("{code} with {charge}").format(code=code, charge=charge) if known else str(code)
        return Unknown(_("No price of {what} is known; add it to prices.toml.").format(what=what))
    unit = fitting[0]
    per_hour = unit.per_hour * units
    basis = _("{units} x {code} at {per_hour:g} {currency} an hour, billed by the {billed_by}").format(
        units=units,
        code=unit.code,
        per_hour=unit.per_hour,
        currency=unit.currency,
        billed_by=_(BILLED_BY.get(unit.billed_by, unit.billed_by)),
    )
    total = None
    if hours is not None:
        billed = math.ceil(round(hours * 60, 6)) / 60 if unit.billed_by == "minute" else hours
        total = per_hour * billed
        basis += f", {hours:g} h"
    return Price(per_hour, unit.currency, units, hours, total, f"{basis}; {_(_APART)}", unit.source, unit.date)
