"""The measuring of what the proxy costs: that it measures, not what."""

import pytest
from bench.watch import Load, measure_watch, watch_table


@pytest.mark.real
def test_latency_and_throughput_are_measured_beside_a_direct_connection() -> None:
    ways = measure_watch(Load(paced=5, rounds=2, flood=50, floods=1))
    assert [way.name for way in ways] == ["direct", "watch", "watch --record"]
    assert all(0 < way.median_us <= way.p99_us and way.events_per_s > 0 for way in ways)
    assert watch_table(ways).count("\n") == 4
