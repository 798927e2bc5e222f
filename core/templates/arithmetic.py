"""A seeded generator of arithmetic word problems: the data of the built-in template."""

import json
import random
from collections.abc import Iterator
from fractions import Fraction

from agentic_rl_tui.core.templates.distinct import Kind, Made, distinct

INSTRUCTION = "Give the final answer in the form ### ANSWER: <answer> ###."

_PEOPLE = ("Mei", "Omar", "Lucía", "Tomás", "Aiko", "Ravi", "Ingrid", "Kofi", "Yara", "Jonas", "Lin", "Salma")
_GOODS = ("pencils", "apples", "tiles", "bolts", "seeds", "stamps", "bricks", "candles", "lemons", "buttons")
_BOXES = ("boxes", "crates", "bags", "trays", "baskets", "sacks")
_PLACES = ("workshop", "bakery", "school", "farm", "library", "harbour office", "print shop", "garden centre")
_LIQUIDS = ("juice", "paint", "milk", "syrup", "oil", "ink")


def _spell(value: Fraction | int, rng: random.Random) -> str:
    """A solution as data sets spell them: thousands sometimes with an underscore, fractions as a/b."""
    value = Fraction(value)
    if value.denominator != 1:
        return f"{value.numerator}/{value.denominator}"
    whole = value.numerator
    return f"{whole:_}" if abs(whole) >= 1000 and rng.random() < 0.5 else str(whole)


def _packing(rng: random.Random) -> Made:
    size, count = rng.randint(4, 24), rng.randint(11, 160)
    opening = rng.choice(
        (
            f"A {rng.choice(_PLACES)} has {size * count} {{g}} and puts {size} into each of its {{b}}.",
            f"{rng.choice(_PEOPLE)} sorts {size * count} {{g}} into {{b}} that hold {size} each.",
            f"Exactly {size} {{g}} fit into one of the {{b}}, and {size * count} {{g}} are waiting to be packed.",
        )
    )
    question = rng.choice(("How many {b} are filled?", "What number of {b} does that take?"))
    text = f"{opening} {question}".replace("{g}", rng.choice(_GOODS)).replace("{b}", rng.choice(_BOXES))
    return text, _spell(count, rng)


def _shopping(rng: random.Random) -> Made:
    first, second = rng.sample(_GOODS, 2)
    a, b, price_a, price_b = rng.randint(3, 30), rng.randint(2, 25), rng.randint(2, 40), rng.randint(3, 60)
    paid = a * price_a + b * price_b + rng.randint(1, 90)
    who = rng.choice(_PEOPLE)
    if rng.random() < 0.5:
        text = (
            f"{who} buys {a} {first} at {price_a} coins each and {b} {second} at {price_b} coins each, "
            f"and pays with {paid} coins. How many coins come back?"
        )
        return text, _spell(paid - a * price_a - b * price_b, rng)
    text = (
        f"At the market {first} cost {price_a} coins apiece while {second} cost {price_b}. "
        f"What does {who} owe for {a} of the former together with {b} of the latter?"
    )
    return text, _spell(a * price_a + b * price_b, rng)


def _share(rng: random.Random) -> Made:
    parts, eaten = rng.randint(5, 16), rng.randint(2, 4)
    liquid, who = rng.choice(_LIQUIDS), rng.choice(_PEOPLE)
    if rng.random() < 0.5:
        text = (
            f"{who} divides a can of {liquid} into {parts} equal cups and uses {eaten} of them. "
            "What fraction of the can is left?"
        )
        return text, _spell(Fraction(parts - eaten, parts), rng)
    other = rng.randint(3, 9)
    text = (
        f"One jug is 1/{parts} full of {liquid}, a second jug of the same size is {eaten}/{other + eaten} full. "
        "Poured together, what fraction of one jug is that?"
    )
    return text, _spell(Fraction(1, parts) + Fraction(eaten, other + eaten), rng)


def _percent(rng: random.Random) -> Made:
    rate, base = rng.choice((5, 10, 12, 15, 20, 25, 30, 40, 60, 75)), rng.randint(4, 90) * 20
    place = rng.choice(_PLACES)
    if rng.random() < 0.5:
        text = f"A {place} lowers a price of {base} coins by {rate}%. What is the new price in coins?"
        return text, _spell(Fraction(base * (100 - rate), 100), rng)
    part = base * rate // 100 if base * rate % 100 == 0 else None
    if part is None:
        text = f"How much is {rate}% of the {base} visitors that the {place} counted last week?"
        return text, _spell(Fraction(base * rate, 100), rng)
    text = f"Of {base} visitors to the {place}, {part} came by bicycle. What percentage is that?"
    return text, f"{rate}%"


def _journey(rng: random.Random) -> Made:
    speed, hours, more = rng.randint(8, 110), rng.randint(2, 9), rng.randint(5, 80)
    who = rng.choice(_PEOPLE)
    if rng.random() < 0.5:
        text = (
            f"{who} travels {hours} hours at {speed} km an hour and then another {more} km on foot and by boat. "
            "How long is the whole way in km?"
        )
        return text, _spell(speed * hours + more, rng)
    text = (
        f"The road from the {rng.choice(_PLACES)} to the coast is {speed * hours} km long. "
        f"At what speed in km per hour must {who} drive to be there in {hours} hours?"
    )
    return text, _spell(speed, rng)


def _series(rng: random.Random) -> Made:
    start, step, count = rng.randint(2, 40), rng.randint(2, 15), rng.randint(5, 14)
    who, goods = rng.choice(_PEOPLE), rng.choice(_GOODS)
    if rng.random() < 0.5:
        text = (
            f"{who} lays {start} {goods} in the first row and {step} more in every row after it. "
            f"How many {goods} lie in row {count}?"
        )
        return text, _spell(start + step * (count - 1), rng)
    text = (
        f"On the first day {start} {goods} are sold, each day {step} more than the day before. "
        f"How many are sold in the first {count} days altogether?"
    )
    return text, _spell(count * (2 * start + step * (count - 1)) // 2, rng)


def _rectangle(rng: random.Random) -> Made:
    width, height = rng.randint(6, 85), rng.randint(5, 60)
    place = rng.choice(_PLACES)
    if rng.random() < 0.5:
        text = f"The yard of the {place} is {width} m wide and {height} m deep. What is its area in square metres?"
        return text, _spell(width * height, rng)
    text = (
        f"A fence runs once around a rectangular field of {width * height} square metres. "
        f"One side is {width} m. How many metres of fence does the {place} need?"
    )
    return text, _spell(2 * (width + height), rng)


def _unknown(rng: random.Random) -> Made:
    factor, offset, value = rng.randint(2, 19), rng.randint(3, 99), rng.randint(4, 120)
    who = rng.choice(_PEOPLE)
    if rng.random() < 0.5:
        text = f"{who} thinks of a number, multiplies it by {factor}, adds {offset} and gets {factor * value + offset}."
        return f"{text} Which number was it?", _spell(value, rng)
    text = f"Solve for x: {factor} times x minus {offset} equals {factor * value - offset}."
    return text, _spell(value, rng)


def _mean(rng: random.Random) -> Made:
    scores = [rng.randint(40, 100) for _ in range(rng.randint(3, 5))]
    listed = ", ".join(map(str, scores[:-1])) + f" and {scores[-1]}"
    text = f"{rng.choice(_PEOPLE)} scored {listed} points in {len(scores)} rounds. What is the average of the rounds?"
    return text, _spell(Fraction(sum(scores), len(scores)), rng)


def _work(rng: random.Random) -> Made:
    people, days = rng.randint(3, 18), rng.randint(4, 30)
    divisors = [count for count in range(2, people * days) if people * days % count == 0 and count != people]
    others = rng.choice(divisors)
    text = (
        f"{people} workers at the {rng.choice(_PLACES)} finish an order in {days} days. "
        f"Working at the same pace, in how many days would {others} workers finish it?"
    )
    return text, _spell(Fraction(people * days, others), rng)


_KINDS: tuple[Kind, ...] = (
    _packing,
    _shopping,
    _share,
    _percent,
    _journey,
    _series,
    _rectangle,
    _unknown,
    _mean,
    _work,
)


def problems(seed: int) -> Iterator[Made]:
    """Endless (question, solution) pairs, no two of them alike or nearly so; the same seed gives the same ones."""
    return distinct(_KINDS, seed)


def row(question: str, solution: str) -> bytes:
    """One line of a data set in the documented shape, with its line break."""
    content = f"{question} {INSTRUCTION}"
    record = {"messages": [{"role": "user", "content": content}], "rollout_extra": {"solution": solution}}
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def data_files(*, train_rows: int = 256, valid_rows: int = 64, seed: int = 7) -> dict[str, bytes]:
    """The template's data sets by path; no problem of one is in the other."""
    source = problems(seed)
    lines = [row(*next(source)) for _ in range(train_rows + valid_rows)]
    return {"data/train.jsonl": b"".join(lines[:train_rows]), "data/valid.jsonl": b"".join(lines[train_rows:])}
