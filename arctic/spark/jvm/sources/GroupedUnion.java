package arctic.spark;

import java.util.ArrayList;
import org.apache.spark.rdd.RDD;
import org.apache.spark.rdd.SQLPartitioningAwareUnionRDD;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.UnionExec;

/** The rows of several plans in the same groups: partition i has those of group i of each. */
public final class GroupedUnion extends SparkPlan {
  private final scala.collection.immutable.Seq parts;
  private final scala.collection.immutable.Seq output;

  public GroupedUnion(scala.collection.immutable.Seq parts,
      scala.collection.immutable.Seq output) {
    this.parts = parts;
    this.output = output;
  }

  public scala.collection.immutable.Seq output() {
    return output;
  }

  /** Of columns that stand at the same places in all parts. */
  public Partitioning outputPartitioning() {
    KeyGroups all = groupsOf(0);
    for (int i = 1; i < parts.length() && all != null; i++) {
      all = all.equals(groupsOf(i)) ? all : null;
    }
    return all == null ? (Partitioning) new UnknownPartitioning(0) : all;
  }

  /** Returns the groups of a part in the columns of this; null: it has none. */
  private KeyGroups groupsOf(int part) {
    SparkPlan plan = (SparkPlan) parts.apply(part);
    if (!(plan.outputPartitioning() instanceof KeyGroups)) {
      return null;
    }
    KeyGroups groups = (KeyGroups) plan.outputPartitioning();
    ArrayList keys = new ArrayList();
    for (int i = 0; i < groups.keys().length(); i++) {
      for (int place = 0; place < output.length(); place++) {
        if (((Attribute) plan.output().apply(place)).semanticEquals(
            (org.apache.spark.sql.catalyst.expressions.Expression) groups.keys().apply(i))) {
          keys.add(output.apply(place));
          break;
        }
      }
    }
    return keys.size() < groups.keys().length() ? null
        : new KeyGroups(groups.function(), groups.numPartitions(), Trees.seq(keys));
  }

  public RDD doExecute() {
    ArrayList rows = new ArrayList();
    for (int i = 0; i < parts.length(); i++) {
      rows.add(((SparkPlan) parts.apply(i)).execute());
    }
    if (outputPartitioning() instanceof KeyGroups) {
      return new SQLPartitioningAwareUnionRDD(session().sparkContext(), Trees.seq(rows),
          outputPartitioning().numPartitions(),
          scala.reflect.ClassTag$.MODULE$.apply(
              org.apache.spark.sql.catalyst.InternalRow.class));
    }
    return session().sparkContext().union(Trees.seq(rows), scala.reflect.ClassTag$.MODULE$.apply(
        org.apache.spark.sql.catalyst.InternalRow.class));
  }

  public scala.collection.immutable.Seq children() {
    return parts;
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new GroupedUnion(children.toSeq(), output);
  }

  /** As GroupedScan's. */
  protected Object writeReplace() {
    return new UnionExec(parts);
  }

  public String simpleString(int maxFields) {
    return nodeName();
  }

  public String nodeName() {
    return "ArcticUnion";
  }

  public Object productElement(int place) {
    return place == 0 ? parts : output;
  }

  public int productArity() {
    return 2;
  }

  public boolean canEqual(Object other) {
    return other instanceof GroupedUnion;
  }

  public boolean equals(Object other) {
    return other instanceof GroupedUnion && ((GroupedUnion) other).parts.equals(parts)
        && ((GroupedUnion) other).output.equals(output);
  }

  public int hashCode() {
    return parts.hashCode();
  }
}
