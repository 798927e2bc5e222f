"""Methods that work on an instance and, as the guide shows them, on the class."""

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

P = ParamSpec("P")
R = TypeVar("R")


class either(Generic[P, R]):  # noqa: N801 - used as a decorator
    """Called on the class, the method runs on an instance that lives for this call.

    The class-level call takes the method's own arguments and besides them profile=, base_url= and settings=.
    """

    def __init__(self, method: Callable[Concatenate[Any, P], Awaitable[R]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__
        self.__wrapped__ = method

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Callable[..., Awaitable[R]]: ...

    @overload
    def __get__(self, instance: object, owner: type[Any]) -> Callable[P, Awaitable[R]]: ...

    def __get__(self, instance: object | None, owner: type[Any]) -> Callable[..., Awaitable[R]]:
        method = self._method
        if instance is not None:
            return functools.partial(method, instance)

        @functools.wraps(method)
        async def once(
            *args: Any, profile: str | None = None, base_url: str | None = None, settings: Any = None, **named: Any
        ) -> R:
            async with owner(profile=profile, base_url=base_url, settings=settings) as client:
                return await method(client, *args, **named)

        return once
