"""Times and durations as people read them."""

from datetime import datetime, tzinfo

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.widgets.cells import Span


def parse_time(text: str | None, zone: tzinfo) -> float | None:
    """Seconds since the epoch of a server's ``YYYY-MM-DD HH:MM:SS`` or ISO text; None where it is neither."""
    if not text:
        return None
    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (when if when.tzinfo else when.replace(tzinfo=zone)).timestamp()


def short_duration(seconds: float) -> str:
    """At most two units: ``32s``, ``4m12s``, ``2h05m``, ``3d4h``, ``41d``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m{rest:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours}h" if days < 10 else f"{days}d"


def stale_note(age_s: float | None) -> Span:
    """What stands where a refresh failed: how old the facts on the screen are. None: there never were any."""
    age = _("never updated") if age_s is None else _("{age} old").format(age=short_duration(age_s))
    return (_("⚠ stale · {age}").format(age=age), "$warn")


def coarse_duration(seconds: float) -> str:
    """One unit once it is minutes: for ages that nobody reads to the second."""
    whole = max(0, int(seconds))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if whole >= size:
            return f"{whole // size}{unit}"
    return f"{whole}s"


def moment(seconds: float, now: float, zone: tzinfo) -> str:
    """The clock alone on the day of `now`, the date with it on any other."""
    when, today = datetime.fromtimestamp(seconds, zone), datetime.fromtimestamp(now, zone).date()
    return when.strftime("%H:%M:%S" if when.date() == today else "%Y-%m-%d %H:%M")
