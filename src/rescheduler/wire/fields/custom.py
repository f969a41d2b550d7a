"""What comes as JSON only, so that the numbers mean nothing."""

TABLE = """
Custom
    1  metadata  ObjectMeta
    2  spec  anything
    3  status  anything
NodeMetrics
    1  metadata  ObjectMeta
    2  timestamp  time
    3  window  text
    4  usage  {quantity}
ContainerMetrics
    1  name  text
    2  usage  {quantity}
PodMetrics
    1  metadata  ObjectMeta
    2  timestamp  time
    3  window  text
    4  containers  ContainerMetrics[]
"""
