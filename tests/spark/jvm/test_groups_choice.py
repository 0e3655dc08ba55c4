"""How many groups of equal keys are worth it, on the bytes of each alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from pyspark.sql import SparkSession

from arctic.spark.base.private_names import gateway, jvm
from tests.spark.jvm.java_half import Java

pytestmark = pytest.mark.spark

MIB = 1 << 20
TASK = 128 * MIB


@pytest.mark.parametrize(
    ("mebibytes", "cores", "most", "groups"),
    [
        pytest.param([10] * 16, 2, 1024, 2, id="as few as keep the cores busy"),
        pytest.param([100] * 16, 2, 1024, 16, id="more where a task would have more bytes"),
        pytest.param([100, 0] * 8, 2, 1024, 16, id="whichever nodes have none"),
        pytest.param([30] * 36, 4, 1024, 12, id="any divisor that is even"),
        pytest.param([200] * 4, 2, 1024, 4, id="the most there are, where all have more bytes"),
        pytest.param([1025] * 4, 2, 1024, 0, id="too large for a task"),
        pytest.param([1] * 4, 8, 1024, 0, id="fewer than cores"),
        pytest.param([100] * 3, 2, 1024, 0, id="a core would wait for the other"),
        pytest.param([100] * 16, 12, 1024, 0, id="cores would wait for a second round"),
        pytest.param([100] * 32, 12, 1024, 32, id="a third round of few"),
        pytest.param([900, *[10] * 15], 4, 1024, 0, id="a value that most rows have"),
        pytest.param([3, *[0] * 15], 4, 1024, 4, id="so few bytes do not matter"),
        pytest.param([1] * 4, 1, 1024, 2, id="one core"),
        pytest.param([100] * 4, 2, 128, 4, id="cores that come find tasks"),
        pytest.param([200] * 4, 2, 128, 0, id="cores that come would find none"),
    ],
)
def test_groups_keep_the_cores_as_busy_as_files_do(
    java: Java, spark: SparkSession, mebibytes: Sequence[int], cores: int, most: int, groups: int
) -> None:
    """A group is read by one task, and a core that has read one takes the next."""
    sizes = gateway(spark).new_array(jvm(spark).long, len(mebibytes))
    for place, size in enumerate(mebibytes):
        sizes[place] = size * MIB

    assert java.call("number", sizes, cores, TASK, most * MIB, owner="GroupsChoice") == groups
