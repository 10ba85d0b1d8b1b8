import pytest

from streams.kafka.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        # Of Apache Kafka's own UtilsTest.testMurmur2, as signed 32-bit numbers.
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_as_java_does(key, expected):
    assert expected & 0xFFFFFFFF == murmur2(key)


def test_partitions_lie_in_range():
    found = {partition_of(b"%d" % n, 7) for n in range(1000)}

    assert set(range(7)) == found
