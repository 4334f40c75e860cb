"""Which tool result answers which call. Knows lines, not blocks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from talekeeper.domain.chat import LiveMessage

__all__ = ["ToolGroups"]


@dataclass(frozen=True, slots=True)
class ToolGroups:
    """The tool groups among some lines: a line with calls, and the results of these.

    ``calls`` has for each result, by its index, the index of the line that called; ``results`` the
    other way round. A line that is in neither is in no group.
    """

    calls: dict[int, int]
    results: dict[int, list[int]]

    @classmethod
    def of(cls, lines: Sequence[LiveMessage]) -> "ToolGroups":
        """A result answers the nearest call of its id before it, and a call has one result.

        The nearest, because some programs count their calls anew each turn.
        """
        open_calls: dict[str, int] = {}
        groups = cls({}, {})
        for index, line in enumerate(lines):
            if line.tool_call_id is not None and line.tool_call_id in open_calls:
                call = open_calls.pop(line.tool_call_id)
                groups.calls[index] = call
                groups.results.setdefault(call, []).append(index)
            if line.tool_calls:
                open_calls.update((call.id, index) for call in line.tool_calls)
        return groups

    def order(self, count: int) -> Iterator[int]:
        """The indices of ``count`` lines in the order they are sent: results follow their call."""
        if not self.calls:
            yield from range(count)
            return
        for index in range(count):
            if index not in self.calls:
                yield index
                yield from self.results.get(index, ())
