"""The calls that work on an instance of AgenticRL and, as the guide shows them, on the class."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl_tui.core.i18n import _
from agentic_rl_tui.core.models.errors import InputError
from agentic_rl_tui.core.models.functions import FunctionKind, InstanceLogPage
from agentic_rl_tui.core.models.jobs import Job, JobPage, LogPage
from agentic_rl_tui.core.sdk.either import either
from agentic_rl_tui.core.sdk.session import Session

if TYPE_CHECKING:
    from agentic_rl_tui.core.client.function_answers import FunctionAnswer

ACTIVE_S = 120.0


class Calls:
    """Every call takes api_key and workspace (the service's id of one) for itself alone."""

    session: Session
    base: Path
    """The folder that relative paths of test inputs start from."""

    @either
    async def get(self: "Calls", job_id: str, api_key: str | None = None, workspace: str | None = None) -> Job:
        """Raises NotFound."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self.session.scoped(api_key, workspace) as transport:
            return await Jobs(transport).get(job_id)

    @either
    async def list(
        self: "Calls",
        page_no: int = 1,
        page_size: int = 10,
        api_key: str | None = None,
        workspace: str | None = None,
        *,
        model: str | None = None,
        status: str | None = None,
        name: str | None = None,
    ) -> JobPage:
        """One page of jobs, newest first; page_size 1 to 100. status and a part of the name filter within the page."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self.session.scoped(api_key, workspace) as transport:
            return await Jobs(transport).list(
                page_no=page_no, page_size=page_size, model=model, status=status, name=name
            )

    @either
    async def logs(
        self: "Calls",
        job_id: str,
        offset: int = 0,
        lines: int = 1000,
        api_key: str | None = None,
        workspace: str | None = None,
    ) -> LogPage:
        """Lines offset+1 .. offset+lines of a job's log; lines 1 to 1000."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self.session.scoped(api_key, workspace) as transport:
            return await Jobs(transport).logs(job_id, offset=offset, lines=lines)

    @either
    async def cancel(self: "Calls", job_id: str, api_key: str | None = None, workspace: str | None = None) -> None:
        """Ask for a stop. Raises Conflict when the job's state forbids it."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self.session.scoped(api_key, workspace) as transport:
            await Jobs(transport).cancel(job_id)

    @either
    async def delete(self: "Calls", job_id: str, api_key: str | None = None, workspace: str | None = None) -> None:
        """Raises Conflict when the job's state forbids it."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self.session.scoped(api_key, workspace) as transport:
            await Jobs(transport).delete(job_id)

    @either
    async def wait(
        self: "Calls",
        job_id: str,
        timeout_s: float | None = None,
        api_key: str | None = None,
        workspace: str | None = None,
        *,
        interval_s: float | None = None,
        on_status: Callable[[Job], None] | None = None,
    ) -> Job:
        """The job once it has ended, well or not. Raises TimedOut after timeout_s; the job goes on."""
        from agentic_rl_tui.core.client.jobs import Jobs

        async with self.session.scoped(api_key, workspace) as transport:
            return await Jobs(transport).wait(job_id, timeout_s=timeout_s, interval_s=interval_s, on_status=on_status)

    @either
    async def test_functions(
        self: "Calls",
        instance_id: str,
        functype: FunctionKind | str | None = None,
        input_data: Mapping[str, Any] | str | Path | None = None,
        api_key: str | None = None,
        *,
        type: FunctionKind | str | None = None,  # noqa: A002 - the guide's other name for functype
        timeout_s: float | None = None,
    ) -> "FunctionAnswer":
        """Run a loaded function once, with an object, JSON text, or the path of a JSON file.

        Waits until the instance is active. Raises FunctionFailed with the user's own error. A ``status`` of
        ``failed`` in the answer is an answer: ask its `is_ok`. On the local platform the practice policy is the model
        of a rollout whose input names none, or one whose key only holds the place of another.
        """
        from agentic_rl_tui.core.client.functions import Functions
        from agentic_rl_tui.core.sdk.inputs import kind_of, read_input
        from agentic_rl_tui.core.sdk.practice import practised

        if input_data is None:
            raise InputError(
                _("input_data is not given"), advice=_("Pass an object, JSON text, or the path of a JSON file.")
            )
        payload = read_input(input_data, base=self.base)
        kind = kind_of(functype if functype is not None else type, payload)
        async with self.session.scoped(api_key) as transport:
            functions = Functions(transport)
            instance = await functions.wait_active(instance_id, timeout_s=ACTIVE_S)
            if kind is not FunctionKind.ROLLOUT:
                return await functions.call(instance, {"func_type": kind.value, **payload}, timeout_s=timeout_s)
            async with practised(transport, payload) as whole:
                return await functions.call(instance, {"func_type": kind.value, **whole}, timeout_s=timeout_s)

    @either
    async def query_function_instance_logs(
        self: "Calls",
        instance_id: str,
        page_number: int = 1,
        page_size: int = 100,
        start_time: float | None = None,
        end_time: float | None = None,
        keywords: Sequence[str] = (),
        api_key: str | None = None,
    ) -> InstanceLogPage:
        """One page of an instance's log; times in seconds since the epoch."""
        from agentic_rl_tui.core.client.functions import Functions

        async with self.session.scoped(api_key) as transport:
            return await Functions(transport).logs(
                instance_id,
                page=page_number,
                page_size=page_size,
                start_time=start_time,
                end_time=end_time,
                keywords=keywords,
            )

    @either
    async def query_all_function_instance_logs(
        self: "Calls",
        instance_id: str,
        page_size: int = 100,
        start_time: float | None = None,
        end_time: float | None = None,
        keywords: Sequence[str] = (),
        api_key: str | None = None,
    ) -> builtins.list[str]:
        """The messages of every page."""
        from agentic_rl_tui.core.client.functions import Functions

        async with self.session.scoped(api_key) as transport:
            entries = Functions(transport).iter_logs(
                instance_id, page_size=page_size, start_time=start_time, end_time=end_time, keywords=keywords
            )
            return [entry.message async for entry in entries]

    @either
    async def delete_function_instance(self: "Calls", instance_id: str, api_key: str | None = None) -> dict[str, Any]:
        """Stop and remove an instance; what the service says of it."""
        from agentic_rl_tui.core.client.functions import Functions

        async with self.session.scoped(api_key) as transport:
            return await Functions(transport).delete_instance(instance_id)
