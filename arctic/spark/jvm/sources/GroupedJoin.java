package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.JoinType;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.PartitioningCollection;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnspecifiedDistribution$;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.InputAdapter;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.WholeStageCodegenExec;
import org.apache.spark.sql.execution.exchange.ValidateRequirements;
import org.apache.spark.sql.execution.joins.SortMergeJoinExec;
import org.apache.spark.sql.internal.SQLConf;

/**
 * A sort-merge join that wants no shuffle where both sides are in the same groups of its keys.
 *
 * Spark leaves sides as they are only where it could shuffle others to meet one of them, which
 * nobody can here. So this node says what it wants of the sides that it has, at every moment, and
 * has Spark's own join run when they are final.
 */
public final class GroupedJoin extends SparkPlan {
  private final scala.collection.immutable.Seq leftKeys;
  private final scala.collection.immutable.Seq rightKeys;
  private final JoinType joinType;
  private final scala.Option condition;
  private final SparkPlan left;
  private final SparkPlan right;
  // A side is not changed but for another node; null: not asked yet.
  private Boolean sidesSettled;
  private Boolean settled;

  public GroupedJoin(scala.collection.immutable.Seq leftKeys,
      scala.collection.immutable.Seq rightKeys, JoinType joinType, scala.Option condition,
      SparkPlan left, SparkPlan right) {
    this.leftKeys = leftKeys;
    this.rightKeys = rightKeys;
    this.joinType = joinType;
    this.condition = condition;
    this.left = left;
    this.right = right;
  }

  /** Returns Spark's own of these sides. */
  private SortMergeJoinExec join(SparkPlan left, SparkPlan right) {
    return new SortMergeJoinExec(leftKeys, rightKeys, joinType, condition, left, right, false);
  }

  private SortMergeJoinExec join() {
    return join(left, right);
  }

  /** Joins below that have no shuffles yet promise what they will not keep, or fail if asked. */
  private boolean areSettled() {
    if (sidesSettled == null) {
      sidesSettled = Boolean.valueOf(
          ValidateRequirements.validate(left) && ValidateRequirements.validate(right));
    }
    return sidesSettled.booleanValue();
  }

  /** And so does this one. */
  private boolean isSettled() {
    if (settled == null) {
      settled = Boolean.valueOf(ValidateRequirements.validate(this));
    }
    return settled.booleanValue();
  }

  private boolean areInGroups() {
    if (!areSettled()) {
      return false;
    }
    List lefts = all(left.outputPartitioning());
    List rights = all(right.outputPartitioning());
    for (int i = 0; i < lefts.size(); i++) {
      for (int j = 0; j < rights.size(); j++) {
        if (((KeyGroups) lefts.get(i)).pairsUp(
            (KeyGroups) rights.get(j), leftKeys, rightKeys)) {
          return true;
        }
      }
    }
    return false;
  }

  private static List all(Partitioning partitioning) {
    ArrayList found = new ArrayList();
    if (partitioning instanceof KeyGroups) {
      found.add(partitioning);
    } else if (partitioning instanceof PartitioningCollection) {
      scala.collection.immutable.Seq parts =
          ((PartitioningCollection) partitioning).partitionings();
      for (int i = 0; i < parts.length(); i++) {
        found.addAll(all((Partitioning) parts.apply(i)));
      }
    }
    return found;
  }

  public scala.collection.immutable.Seq requiredChildDistribution() {
    if (!areInGroups()) {
      return join().requiredChildDistribution();
    }
    ArrayList wanted = new ArrayList();
    wanted.add(UnspecifiedDistribution$.MODULE$);
    wanted.add(UnspecifiedDistribution$.MODULE$);
    return Trees.seq(wanted);
  }

  /** Says whether a side is as Spark's own join wants it. */
  private boolean meets(SparkPlan side, int place) {
    return side.outputPartitioning().satisfies(
        (Distribution) join().requiredChildDistribution().apply(place));
  }

  public scala.collection.immutable.Seq requiredChildOrdering() {
    return join().requiredChildOrdering();
  }

  public Partitioning outputPartitioning() {
    return isSettled() ? join().outputPartitioning() : new UnknownPartitioning(0);
  }

  public scala.collection.immutable.Seq outputOrdering() {
    return join().outputOrdering();
  }

  public scala.collection.immutable.Seq output() {
    return join().output();
  }

  public RDD doExecute() {
    if (!areInGroups() && !(meets(left, 0) && meets(right, 1))) {
      throw new IllegalStateException("sides of " + nodeName() + " by " + leftKeys
          + " are in no common partitions; set " + KeyGroupsAsked.WANTED
          + " to false, and report it");
    }
    SortMergeJoinExec join = join(new InputAdapter(left), new InputAdapter(right));
    boolean isCompiled = join.supportCodegen() && SQLConf.get().wholeStageEnabled();
    return isCompiled ? new WholeStageCodegenExec(join, 0).execute() : join().execute();
  }

  public scala.collection.immutable.Seq children() {
    ArrayList children = new ArrayList();
    children.add(left);
    children.add(right);
    return Trees.seq(children);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new GroupedJoin(leftKeys, rightKeys, joinType, condition,
        (SparkPlan) children.apply(0), (SparkPlan) children.apply(1));
  }

  /** As GroupedScan's. */
  protected Object writeReplace() {
    return join();
  }

  public String nodeName() {
    return "ArcticJoin";
  }

  public Object productElement(int place) {
    return new Object[] {leftKeys, rightKeys, joinType, condition, left, right}[place];
  }

  public int productArity() {
    return 6;
  }

  public boolean canEqual(Object other) {
    return other instanceof GroupedJoin;
  }

  public boolean equals(Object other) {
    return other instanceof GroupedJoin && ((GroupedJoin) other).join().equals(join());
  }

  public int hashCode() {
    return join().hashCode();
  }
}
