package arctic.spark;

import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.ShuffleSpec;
import org.apache.spark.sql.catalyst.plans.physical.ShuffleSpecCollection;
import org.apache.spark.sql.catalyst.plans.physical.SinglePartitionShuffleSpec$;

/** Which other side of a join has its rows of equal keys in the same partitions as this one. */
public final class KeyGroupsSpec implements ShuffleSpec {
  private final KeyGroups partitioning;
  private final ClusteredDistribution distribution;

  KeyGroupsSpec(KeyGroups partitioning, ClusteredDistribution distribution) {
    this.partitioning = partitioning;
    this.distribution = distribution;
  }

  public int numPartitions() {
    return partitioning.numPartitions();
  }

  public boolean isCompatibleWith(ShuffleSpec other) {
    if (other instanceof ShuffleSpecCollection) {
      scala.collection.immutable.Seq specs = ((ShuffleSpecCollection) other).specs();
      for (int i = 0; i < specs.length(); i++) {
        if (isCompatibleWith((ShuffleSpec) specs.apply(i))) {
          return true;
        }
      }
      return false;
    }
    if (other == SinglePartitionShuffleSpec$.MODULE$) {
      return numPartitions() == 1;
    }
    return other instanceof KeyGroupsSpec && partitioning.pairsUp(
        ((KeyGroupsSpec) other).partitioning, distribution.clustering(),
        ((KeyGroupsSpec) other).distribution.clustering());
  }

  public boolean canCreatePartitioning() {
    return false;
  }

  public Partitioning createPartitioning(scala.collection.immutable.Seq clustering) {
    throw new UnsupportedOperationException("Spark cannot shuffle into " + partitioning);
  }
}
