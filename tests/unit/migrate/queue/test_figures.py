"""What is told of many that are alike."""

from rescheduler.migrate.queue.figures import Crowd


def test_of_each_kind_a_few_are_told_and_the_rest_is_counted_once_a_minute() -> None:
    crowd = Crowd()
    assert crowd.untold(0.0) == {}
    told = [crowd.is_one_of_few("Invalid") for _ in range(10_000)]
    assert told == [True] * 20 + [False] * 9_980
    assert crowd.is_one_of_few("NotNow")
    assert crowd.untold(59.0) == {}
    assert crowd.untold(60.0) == {"Invalid": 9_980}
    assert crowd.untold(120.0) == {}
    assert crowd.is_one_of_few("Invalid")
