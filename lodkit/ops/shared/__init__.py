"""What several families of operators check, define and infer alike."""
