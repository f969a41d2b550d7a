"""What things cost, each figure beside its limit, goal or peer from the same run. Never a test."""
