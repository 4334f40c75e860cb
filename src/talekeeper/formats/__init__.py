"""Foreign files to values and back. Pure: bytes in, values out; no store, no network, no clock."""
