"""What the kernels of both devices share: optimizer steps, copy plans, launchers whose two sides are alike."""
