"""The public names: adding one is a decision, taking one away a break."""

import talekeeper

PUBLIC = """
    Added Ambiguous Answer AuthorsNote BudgetExceeded Card Character CharacterFilter Chat
    ChatModel Conflict Context DepthPrompt Draft Drafted Endpoint Entry GenerationSettings
    ImportReport InvalidInput Keeper LIMITS Limits Lorebook MemoriesOverCap Memory Message
    ModelError NewMessage NewSwipe NotFound OpenAICompatible PLANS Part Persona Plan Receipt
    ReceiptDiff RecordedReceipt Reply Request Row RowChange ScopeFull SeenReceipt SeenRow
    Shares StoreBusy StoreClosed StoreError StoreTooNew Summary SummaryView Swipe SyncKeeper
    TalekeeperError ToolCall ToolsUnsupported UnreadableFile UsageExceeded Use __version__
    compose_messages
"""


def test_the_public_names_are_these() -> None:
    assert sorted(talekeeper.__all__) == sorted(PUBLIC.split())


def test_every_public_name_is_there() -> None:
    for name in talekeeper.__all__:
        assert hasattr(talekeeper, name)
