"""The groups of methods of a Keeper: chats, messages, characters, personas, settings."""
