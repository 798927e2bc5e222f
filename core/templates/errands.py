"""A seeded generator of errands for an assistant: what to ask, and which tool call does it."""

import json
import random
from collections.abc import Iterator
from typing import Any

from agentic_rl_tui.core.templates.distinct import Kind, Made, distinct

INSTRUCTION = (
    "Call the one tool that does this. If none is needed, give the answer in the form ### ANSWER: <answer> ###."
)

_CITIES = ("Porto", "Riga", "Kyoto", "Lima", "Tunis", "Bergen", "Hanoi", "Quito", "Graz", "Busan", "Leeds", "Accra")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_PEOPLE = ("Ines", "Bashir", "Greta", "Kenji", "Olga", "Pablo", "Thandi", "Ugo", "Wen", "Yusuf")
_UNITS = (("miles", "kilometres"), ("pounds", "kilograms"), ("inches", "centimetres"), ("gallons", "litres"))
_MONEY = ("euros", "yen", "pesos", "pounds", "francs", "rupees", "dollars", "kroner")
_TONGUES = ("Swahili", "Finnish", "Korean", "Greek", "Welsh", "Turkish", "Basque", "Hindi")
_LINES = (
    "the meeting starts half an hour later",
    "please bring the blue folder",
    "dinner is ready at eight",
    "I left the keys under the mat",
    "the parcel has arrived",
    "we need two more chairs",
    "thank you for the lovely evening",
    "the garden gate is broken",
)
_TITLES = ("dentist", "choir practice", "car inspection", "parents' evening", "swimming", "tax adviser", "book club")
_MUSIC = ("jazz", "fado", "baroque", "reggae", "string quartets", "film music", "bluegrass", "techno")
_WORDS = ("insurance", "recipe", "passwords", "holiday", "invoice", "boiler", "garden", "vaccination", "bicycle")
_WHY = (
    "I am packing my bags.",
    "My hands are full just now.",
    "My sister asked me about it.",
    "It is for a talk I am preparing.",
    "We were discussing it at lunch.",
    "I keep forgetting it.",
    "The children want to know.",
    "I am in a hurry.",
    "Somebody is waiting for it.",
    "There is no need to explain it.",
)


def _call(rng: random.Random, text: str, name: str, /, **arguments: Any) -> Made:
    """The errand, with something said around it that has nothing to do with the choice."""
    aside = rng.choice(_WHY)
    said = f"{aside} {text}" if rng.random() < 0.5 else f"{text} {aside}"
    wanted = {"decision": "tool_call", "tool_calls": [{"name": name, "arguments": arguments}]}
    return said, json.dumps(wanted, ensure_ascii=False)


def _weather(rng: random.Random) -> Made:
    city, day = rng.choice(_CITIES), rng.choice(_DAYS)
    text = rng.choice(
        (
            f"Will I need an umbrella in {city} on {day}?",
            f"How warm does it get on {day} in {city}?",
            f"What is the sky going to look like over {city} this {day}?",
            f"Tell me whether {day} is a good day for a picnic in {city}.",
        )
    )
    return _call(rng, text, "get_weather", city=city, day=day)


def _event(rng: random.Random) -> Made:
    title, day, hour = rng.choice(_TITLES), rng.choice(_DAYS), rng.randint(7, 21)
    text = rng.choice(
        (
            f"Keep {day} at {hour} o'clock free for {title}.",
            f"I have {title} on {day}, {hour}:00; note it for me.",
            f"Block one hour from {hour}:00 this {day}, the entry is called {title}.",
        )
    )
    return _call(rng, text, "add_event", title=title, day=day, hour=hour)


def _units(rng: random.Random) -> Made:
    source, target = rng.choice([*_UNITS, *((target, source) for source, target in _UNITS)])
    amount = rng.randint(2, 480)
    text = rng.choice(
        (
            f"How many {target} are {amount} {source}?",
            f"The label says {amount} {source}, what is that in {target}?",
            f"Express {amount} {source} in {target}.",
        )
    )
    return _call(rng, text, "convert_units", amount=amount, source=source, target=target)


def _exchange(rng: random.Random) -> Made:
    source, target = rng.sample(_MONEY, 2)
    amount = rng.randint(5, 950)
    text = rng.choice(
        (
            f"What do I get in {target} for {amount} {source} today?",
            f"The hotel wants {amount} {source}; how much is that in {target}?",
            f"Change {amount} {source} to {target} at the current rate.",
        )
    )
    return _call(rng, text, "exchange_money", amount=amount, source=source, target=target)


def _translate(rng: random.Random) -> Made:
    words, tongue = rng.choice(_LINES), rng.choice(_TONGUES)
    text = rng.choice(
        (
            f"How do you say '{words}' in {tongue}?",
            f"Put '{words}' into {tongue} for me.",
            f"I need the {tongue} for '{words}'.",
        )
    )
    return _call(rng, text, "translate", text=words, language=tongue)


def _message(rng: random.Random) -> Made:
    person, words = rng.choice(_PEOPLE), rng.choice(_LINES)
    text = rng.choice(
        (
            f"Let {person} know: {words}",
            f"Write to {person} that {words}",
            f"{person} should hear from me that {words}",
        )
    )
    return _call(rng, f"{text}.", "send_message", person=person, text=words)


def _timer(rng: random.Random) -> Made:
    minutes, what = rng.randint(2, 90), rng.choice(("rice", "eggs", "bread", "tea", "laundry", "stew", "potatoes"))
    text = rng.choice(
        (
            f"{minutes} minutes for the {what}, ring when they are over.",
            f"Remind me of the {what} in {minutes} minutes.",
            f"Wake me in {minutes} minutes, the {what} is on.",
        )
    )
    return _call(rng, text, "set_timer", minutes=minutes)


def _train(rng: random.Random) -> Made:
    origin, destination = rng.sample(_CITIES, 2)
    day = rng.choice(_DAYS)
    text = rng.choice(
        (
            f"How do I get from {origin} to {destination} by rail on {day}?",
            f"I want to be in {destination} on {day} and set out in {origin}, without flying.",
            f"When do trains leave {origin} for {destination} this {day}?",
        )
    )
    return _call(rng, text, "find_train", origin=origin, destination=destination, day=day)


def _music(rng: random.Random) -> Made:
    genre, room = rng.choice(_MUSIC), rng.choice(("kitchen", "studio", "garden", "office", "bath"))
    text = rng.choice(
        (
            f"Some {genre} in the {room} would be nice.",
            f"Put {genre} on while I work in the {room}.",
            f"I am in the mood for {genre}, the speakers of the {room} please.",
        )
    )
    return _call(rng, text, "play_music", genre=genre)


def _notes(rng: random.Random) -> Made:
    word, when = rng.choice(_WORDS), rng.choice(("last spring", "in March", "years ago", "the other day", "in a train"))
    text = rng.choice(
        (
            f"Where did I write something about {word} {when}?",
            f"Look up what I noted on {word} {when}.",
            f"I jotted {word} down {when}, find it.",
        )
    )
    return _call(rng, text, "search_notes", keyword=word)


def _plain(rng: random.Random) -> Made:
    """What an assistant knows by itself: no tool is needed."""
    first, second, aside = rng.randint(3, 60), rng.randint(3, 60), rng.choice(_WHY)
    person, other = rng.sample(_PEOPLE, 2)
    question, answer = rng.choice(
        (
            (f"{person} has {first} stamps and {other} has {second}: how many have they together?", first + second),
            (f"If I cut {first} slices off a loaf of {first + second}, how many remain?", second),
            (f"How many legs do {first} spiders have?", 8 * first),
            (f"How many days are {second} weeks?", 7 * second),
        )
    )
    return f"{aside} {question}", str(answer)


_KINDS: tuple[Kind, ...] = (
    _weather,
    _event,
    _units,
    _exchange,
    _translate,
    _message,
    _timer,
    _train,
    _music,
    _notes,
    _plain,
)


def errands(seed: int) -> Iterator[Made]:
    """Endless (request, solution) pairs, no two of them alike or nearly so; the same seed gives the same ones."""
    return distinct(_KINDS, seed)


def row(request: str, solution: str) -> bytes:
    """One line of a data set in the documented shape, with its line break."""
    record = {
        "messages": [{"role": "user", "content": f"{request} {INSTRUCTION}"}],
        "rollout_extra": {"solution": solution},
    }
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def data_files(*, train_rows: int = 256, valid_rows: int = 64, seed: int = 13) -> dict[str, bytes]:
    """The template's data sets by path; no errand of one is in the other."""
    source = errands(seed)
    lines = [row(*next(source)) for _ in range(train_rows + valid_rows)]
    return {"data/train.jsonl": b"".join(lines[:train_rows]), "data/valid.jsonl": b"".join(lines[train_rows:])}
