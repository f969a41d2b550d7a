"""The fields that we read of each kind, as upstream numbers and names them.

One block is one message, one line one field: its number in upstream's `generated.proto`, its name
in JSON, its type. Types are `text`, `number`, `flag`, `time`, `quantity`, `intOrString`, `anything`
(JSON only) or the name of another block, and then

    X?       a pointer upstream: absent and empty differ
    X[]      a list
    {X}      a map, read by key
    <X>      a map kept as it came, as bytes that compare quickly (see `wire.opaque_key`)
    =X       a message whose fields stand in its owner in JSON (inlined upstream)

What is not here is never decoded: no environment, no commands, no images, no managed fields.
"""

from rescheduler.wire.fields import common, custom, nodes, pods, services, storage, workloads

TABLE = "".join(part.TABLE for part in (common, pods, nodes, workloads, services, storage, custom))
