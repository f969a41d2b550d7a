"""Plans made by hand, as large and as odd as a test wants them."""

from typing import Any

from rescheduler.model.moves import Imbalance, Move, NodeLoad, Plan, Refusal, Report, Way


def load(
    name: str,
    before: tuple[float, float] = (50.0, 40.0),
    after: tuple[float, float] | None = None,
    *,
    pods: tuple[int, int] = (5, 5),
    eligible: bool = True,
) -> NodeLoad:
    cpu, memory = after or before
    return NodeLoad(
        node=name,
        before={"cpu": before[0], "memory": before[1]},
        after={"cpu": cpu, "memory": memory},
        pods_before=pods[0],
        pods_after=pods[1],
        eligible=eligible,
    )


def move(
    pod: str,
    source: str = "a",
    target: str = "b",
    *,
    reason: str = "cpu requests: a 90.0 %, b 10.0 %; gap 60.0 points after the move",
    **others: Any,  # noqa: ANN401
) -> Move:
    return Move(
        namespace="shop",
        pod=pod,
        uid=f"uid-{pod}",
        source=source,
        target=target,
        strategy="LoadBalancing",
        reason=reason,
        **others,
    )


def stays(pod: str, *reasons: str) -> Refusal:
    return Refusal(namespace="shop", pod=pod, reasons=reasons)


ACTS = Report(
    strategy="LoadBalancing",
    acted=True,
    summary="cpu requests: imbalance 80.0 to 20.0 points",
    figures={"before": 80.0, "after": 20.0, "bound": float("nan")},
)
RESTS = Report(
    strategy="ResourceOptimization", acted=False, summary="no node is above 80 % of cpu or memory"
)
UNEVEN = Imbalance(resource="cpu", before=80.0, after=20.0, most="a", least="b")


def plan_of_three() -> Plan:
    """Two nodes that change and one that does not; everything that a plan may have."""
    return Plan(
        moves=(
            move("web-1"),
            move("web-2", wave=1, group="shop/trio"),
            move("db", way=Way.RECREATE),
        ),
        refusals=(
            stays("agent-1", "it belongs to a DaemonSet"),
            stays("agent-2", "it belongs to a DaemonSet", "cpu: requests 500, 30 free"),
            stays("big", "cpu: requests 900, 30 free"),
        ),
        reports=(ACTS, RESTS),
        nodes=(
            load("a", (90.0, 40.0), (60.0, 40.0), pods=(9, 6)),
            load("b", (10.0, 40.0), (40.0, 40.0), pods=(1, 4)),
            load("c", eligible=False),
        ),
        imbalances=(UNEVEN,),
        notes=("node c is labelled for maintenance, and NodeMaintenance is not enabled",),
        steps=1234,
        seed=7,
    )


def plan_of_many(nodes: int, moves: int) -> Plan:
    names = [f"ip-10-0-{n // 250}-{n % 250}.eu-central-1.compute.internal" for n in range(nodes)]
    return Plan(
        moves=tuple(
            move(
                f"checkout-7d9f5c6b8-{number:05}",
                names[number % nodes],
                names[(number * 7 + 1) % nodes],
                reason=f"cpu requests: {names[number % nodes]} {number % 100} %; 3 points less",
                wave=number // 10,
            )
            for number in range(moves)
        ),
        refusals=tuple(
            stays(f"db-{number}", f"cpu: requests {number}, 30 free") for number in range(moves)
        ),
        reports=(ACTS, RESTS),
        nodes=tuple(
            load(name, (100.0 * n / nodes, 30.0), (50.0, 30.0), pods=(9, 9 - n % 2))
            for n, name in enumerate(names)
        ),
        imbalances=(
            Imbalance(resource="cpu", before=99.0, after=0.0, most=names[-1], least=names[0]),
        ),
    )
