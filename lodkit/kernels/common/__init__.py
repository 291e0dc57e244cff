"""Launchers for both devices, optimizer steps, copy plans."""
