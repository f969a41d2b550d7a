"""What the status of a pod says of its containers, for all of them alike."""

from rescheduler.kube import Object


def waiting_reasons(pod: Object) -> list[str]:
    found = (pod.get("status") or {}).get("containerStatuses") or ()
    return [((each.get("state") or {}).get("waiting") or {}).get("reason") or "" for each in found]


class Containers:
    def __init__(self, pod: Object) -> None:
        self._pod = pod

    def creating(self) -> list[Object]:
        return self._all({"waiting": {"reason": "ContainerCreating"}})

    def waiting(self, reason: str, message: str) -> list[Object]:
        return self._all({"waiting": {"reason": reason, "message": message}})

    def running(self, since: str, *, ready: bool) -> list[Object]:
        return self._all({"running": {"startedAt": since}}, ready=ready, started=True)

    def crash_looping(self, when: str) -> list[Object]:
        last = {"lastState": _terminated(when, 1, "Error"), "restartCount": 3}
        return [each | last for each in self._all({"waiting": {"reason": "CrashLoopBackOff"}})]

    def terminated(self, when: str, code: int, reason: str) -> list[Object]:
        return self._all(_terminated(when, code, reason))

    def _all(self, state: Object, *, ready: bool = False, started: bool = False) -> list[Object]:
        return [
            {
                "name": each["name"],
                "image": each.get("image") or "",
                "imageID": "",
                "ready": ready,
                "started": started,
                "restartCount": 0,
                "state": state,
            }
            for each in self._pod["spec"]["containers"]
        ]


def _terminated(when: str, code: int, reason: str) -> Object:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "startedAt": when,
            "finishedAt": when,
        }
    }
