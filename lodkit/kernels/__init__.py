"""How operators run: ``cpu`` and ``cuda`` have the file names of ``lodkit/ops``; ``common`` serves both."""
