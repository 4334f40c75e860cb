"""Talekeeper."""
