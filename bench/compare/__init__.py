"""Side by side with what people use today: the same cluster, the same pods, one after the other."""
