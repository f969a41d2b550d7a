"""What files call the resources that we observe."""

from typing import Final

from rescheduler.observe import sources
from rescheduler.wire import POD_MIGRATIONS
from rescheduler.wire.schema import kind_of

# All but our own are called as the messages that they are sent in.
KINDS: Final = {each: kind_of(each).message for each in sources.ALL} | {
    POD_MIGRATIONS: "PodMigration"
}

BY_KIND: Final = {(resource.group_version, kind): resource for resource, kind in KINDS.items()}
"""By apiVersion and kind."""
