"""What things cost, each figure beside its limit or its peer from the same run. Never a test."""
