"""A seeded generator of word problems that take several steps, each with a whole number as its answer."""

import json
import random
from collections.abc import Iterator

from agentic_rl_tui.core.templates.distinct import Kind, Made, distinct

INSTRUCTION = "Think step by step, then write the answer in a last line of its own as #### <number>."

_PEOPLE = ("Nadia", "Felix", "Hana", "Mateo", "Zola", "Emil", "Priya", "Lars", "Chen", "Amara", "Viktor", "Noor")
_FRUIT = ("plums", "pears", "figs", "peaches", "apricots", "oranges", "melons", "cherries")
_CRAFTS = ("scarves", "bowls", "kites", "lanterns", "baskets", "puppets", "hats", "mugs")
_THINGS = ("a telescope", "a drum", "a pair of skates", "a guitar", "a tent", "a bicycle", "a camera")
_DRINKS = ("soup", "lemonade", "cocoa", "tea", "punch")


def _market(rng: random.Random) -> Made:
    who, craft = rng.choice(_PEOPLE), rng.choice(_CRAFTS)
    a_day, days, price, stall = rng.randint(3, 14), rng.randint(3, 12), rng.randint(6, 30), rng.randint(10, 35)
    made = a_day * days
    unsold = rng.randint(2, made // 3)
    if rng.random() < 0.5:
        text = (
            f"{who} makes {a_day} {craft} a day for {days} days and takes all of them to the market. The stall costs "
            f"{stall} coins. All but {unsold} of the {craft} are sold, at {price} coins each. How many coins are left "
            "over after the stall is paid?"
        )
        return text, str((made - unsold) * price - stall)
    text = (
        f"A workshop sends {who} {days} parcels with {a_day} {craft} in each. {unsold} of them arrive broken. {who} "
        f"gets {price} coins for every whole one and pays {stall} coins for the parcels. How much money is left?"
    )
    return text, str((made - unsold) * price - stall)


def _savings(rng: random.Random) -> Made:
    who, thing = rng.choice(_PEOPLE), rng.choice(_THINGS)
    weekly, spent, weeks, start = rng.randint(9, 30), rng.randint(2, 7), rng.randint(4, 20), rng.randint(5, 60)
    total = start + weeks * (weekly - spent)
    rest = rng.randint(1, start + weeks)
    if rng.random() < 0.5:
        text = (
            f"{who} has {start} coins and gets {weekly} more every week, of which {spent} go on the bus. After {weeks} "
            f"weeks {who} buys {thing} for {total - rest} coins. How many coins remain?"
        )
        return text, str(rest)
    text = (
        f"{thing.capitalize()} costs {total} coins. {who} has put {start} coins aside already, earns {weekly} coins a "
        f"week and spends {spent} of them. In how many weeks can {who} pay for it?"
    )
    return text, str(weeks)


def _orchard(rng: random.Random) -> Made:
    fruit, who = rng.choice(_FRUIT), rng.choice(_PEOPLE)
    rows, trees, each, size = rng.randint(2, 9), rng.randint(3, 12), rng.randint(6, 30), rng.randint(4, 12)
    picked = rows * trees * each
    lost = picked % size
    if rng.random() < 0.5:
        text = (
            f"An orchard has {rows} rows of {trees} trees, and every tree gives {each} {fruit}. {who} throws {lost} "
            f"spoilt {fruit} away and packs the rest into boxes of {size}. How many boxes are filled?"
        )
        return text, str((picked - lost) // size)
    price, frost = rng.randint(2, 9), rng.randint(1, 5)
    text = (
        f"{who} looks after {rows} rows of {trees} trees. Last year each tree bore {each} {fruit}; this year frost "
        f"took "
        f"{frost} from every tree. At {price} coins for each of the {fruit}, what does the whole harvest of this year "
        "bring?"
    )
    return text, str(rows * trees * (each - frost) * price)


def _reading(rng: random.Random) -> Made:
    who = rng.choice(_PEOPLE)
    pages, weeks = rng.randint(6, 35), rng.randint(2, 6)
    read = weeks * (5 * pages + 2 * 2 * pages)
    left = rng.randint(12, 90)
    if rng.random() < 0.5:
        text = (
            f"{who} reads {pages} pages on every school day and twice as many on each of the two days of the weekend. "
            f"The book has {read + left} pages. How many are left after {weeks} full weeks?"
        )
        return text, str(left)
    text = (
        f"In one week {who} reads {pages} pages on each of five days and {2 * pages} pages on each of the other two. "
        f"After {weeks} such weeks {left} pages of the trilogy are left. How many pages does the trilogy have?"
    )
    return text, str(read + left)


def _bus(rng: random.Random) -> Made:
    start, on, off, stops = rng.randint(8, 30), rng.randint(4, 9), rng.randint(1, 3), rng.randint(3, 7)
    fare = rng.randint(2, 6)
    if rng.random() < 0.5:
        text = (
            f"A ferry leaves with {start} passengers. At each of the next {stops} landings {on} people come aboard and "
            f"{off} leave. How many passengers are on it after the last of these landings?"
        )
        return text, str(start + stops * (on - off))
    text = (
        f"A bus sets off with {start} people who have paid {fare} coins each. At every one of {stops} stops {on} more "
        f"get on and pay the same, and {off} get off. How many coins has the driver taken in the end?"
    )
    return text, str((start + stops * on) * fare)


def _kitchen(rng: random.Random) -> Made:
    who, drink = rng.choice(_PEOPLE), rng.choice(_DRINKS)
    cups, times, guests = rng.randint(3, 9), rng.randint(2, 6), rng.randint(4, 15)
    portion = rng.randint(2, 5)
    need = guests * portion
    if rng.random() < 0.5:
        text = (
            f"One recipe makes {cups} cups of {drink}. {who} cooks it {times} times and then serves {portion} cups "
            f"to each of {max(1, cups * times // portion - 1)} guests. How many cups of {drink} are not served?"
        )
        return text, str(cups * times - portion * max(1, cups * times // portion - 1))
    full = -(-need // cups)
    text = (
        f"{guests} guests want {portion} cups of {drink} each. A pot that {who} cooks holds {cups} cups. How many pots "
        "must be cooked so that there is enough for everybody?"
    )
    return text, str(full)


def _trip(rng: random.Random) -> Made:
    pupils, seats, ticket, bus = rng.randint(40, 160), rng.randint(18, 45), rng.randint(3, 15), rng.randint(60, 220)
    buses = -(-pupils // seats)
    if rng.random() < 0.5:
        text = (
            f"{pupils} pupils visit a museum in buses with {seats} seats. A bus costs {bus} coins and a ticket "
            f"{ticket} coins for each pupil. What does the whole trip cost?"
        )
        return text, str(buses * bus + pupils * ticket)
    teachers = rng.randint(2, 9)
    text = (
        f"A school of {pupils} pupils and {teachers} teachers books a boat. Pupils pay {ticket} coins, teachers twice "
        f"as much, and the school adds {bus} coins from a fund. How many coins come together?"
    )
    return text, str(pupils * ticket + teachers * 2 * ticket + bus)


def _factory(rng: random.Random) -> Made:
    machines, rate, hours, bad = rng.randint(2, 12), rng.randint(5, 40), rng.randint(3, 12), rng.randint(2, 30)
    craft = rng.choice(_CRAFTS)
    if rng.random() < 0.5:
        text = (
            f"{machines} machines turn out {rate} {craft} an hour each and run for {hours} hours. At the end {bad} "
            f"{craft} fail the test. How many pass it?"
        )
        return text, str(machines * rate * hours - bad)
    more = rng.randint(1, 5)
    text = (
        f"In the morning {machines} machines run for {hours} hours, in the afternoon {more} machines more for 2 hours. "
        f"Every machine turns out {rate} {craft} an hour. How many {craft} is that in one day?"
    )
    return text, str(machines * hours * rate + (machines + more) * 2 * rate)


def _shares(rng: random.Random) -> Made:
    friends, each, fee = rng.randint(3, 9), rng.randint(6, 40), rng.randint(2, 30)
    who = rng.choice(_PEOPLE)
    sheets, per = rng.randint(4, 20), rng.randint(3, 12)
    if rng.random() < 0.5:
        text = (
            f"{friends} friends wash cars and earn {friends * each + fee} coins together. First they pay {fee} coins "
            "for soap, then they share what is left equally. How much does each of them get?"
        )
        return text, str(each)
    text = (
        f"{who} folds paper birds: {per} from each of {sheets} sheets. Then {fee} birds are given away and "
        f"another {friends} sheets are folded in the same way. How many birds does {who} have then?"
    )
    return text, str(per * (sheets + friends) - fee)


def _ages(rng: random.Random) -> Made:
    young, factor, years = rng.randint(3, 15), rng.randint(2, 5), rng.randint(2, 12)
    first, second, third = rng.sample(_PEOPLE, 3)
    if rng.random() < 0.5:
        text = (
            f"{first} is {young} years old. {second} is {factor} times as old, and {third} is {years} years younger "
            f"than "
            f"{first} and {second} together. How old is {third}?"
        )
        return text, str(young + factor * young - years)
    text = (
        f"{years} years ago {second} was {factor} times as old as {first}, who is {young + years} today. What is the "
        f"sum "
        "of their ages today?"
    )
    return text, str(young + years + factor * young + years)


_KINDS: tuple[Kind, ...] = (
    _market,
    _savings,
    _orchard,
    _reading,
    _bus,
    _kitchen,
    _trip,
    _factory,
    _shares,
    _ages,
)


def problems(seed: int) -> Iterator[Made]:
    """Endless (question, solution) pairs, no two of them alike or nearly so; the same seed gives the same ones."""
    return distinct(_KINDS, seed)


def row(question: str, solution: str) -> bytes:
    """One line of a data set in the documented shape, with its line break."""
    record = {
        "messages": [{"role": "user", "content": f"{question}\n{INSTRUCTION}"}],
        "rollout_extra": {"solution": solution},
    }
    return json.dumps(record, ensure_ascii=False).encode() + b"\n"


def data_files(*, train_rows: int = 256, valid_rows: int = 64, seed: int = 11) -> dict[str, bytes]:
    """The template's data sets by path; no problem of one is in the other."""
    source = problems(seed)
    lines = [row(*next(source)) for _ in range(train_rows + valid_rows)]
    return {"data/train.jsonl": b"".join(lines[:train_rows]), "data/valid.jsonl": b"".join(lines[train_rows:])}
