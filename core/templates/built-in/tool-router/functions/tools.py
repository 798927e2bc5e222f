"""The tools among which the model has to choose, and what stands in for them while it practises."""

import json


def _tool(name: str, description: str, **parameters: dict) -> dict:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
        },
    }


def _text(description: str) -> dict:
    return {"type": "string", "description": description}


def _whole(description: str) -> dict:
    return {"type": "integer", "description": description}


TOOLS = [
    _tool("get_weather", "The forecast for a town.", city=_text("the town"), day=_text("a day of the week")),
    _tool(
        "add_event",
        "Put something into the calendar.",
        title=_text("what it is"),
        day=_text("a day of the week"),
        hour=_whole("full hour, 0 to 23"),
    ),
    _tool(
        "convert_units",
        "Turn a measure into another unit.",
        amount=_whole("how much"),
        source=_text("the unit it has"),
        target=_text("the unit that is wanted"),
    ),
    _tool(
        "exchange_money",
        "Turn an amount of money into another currency at the rate of today.",
        amount=_whole("how much"),
        source=_text("its currency"),
        target=_text("the currency that is wanted"),
    ),
    _tool("translate", "Say a text in another language.", text=_text("the text"), language=_text("the language")),
    _tool("send_message", "Send a text to somebody.", person=_text("to whom"), text=_text("the text")),
    _tool("set_timer", "Ring after some minutes.", minutes=_whole("how many")),
    _tool(
        "find_train",
        "Connections by rail on one day.",
        origin=_text("where it starts"),
        destination=_text("where it ends"),
        day=_text("a day of the week"),
    ),
    _tool("play_music", "Play something.", genre=_text("what kind of music")),
    _tool("search_notes", "Find notes by a word.", keyword=_text("the word")),
]

NAMES = frozenset(tool["function"]["name"] for tool in TOOLS)


def run(name: str, arguments: str | None) -> str:
    """What the model sees of a call. Nothing happens outside: practising must not send messages to anybody."""
    if name not in NAMES:
        return f"error: there is no tool {name!r}"
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        return "error: the arguments are no JSON"
    return json.dumps({"tool": name, "done": True, "with": given}, ensure_ascii=False)
