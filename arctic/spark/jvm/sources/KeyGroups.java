package arctic.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.plans.physical.AllTuples$;
import org.apache.spark.sql.catalyst.plans.physical.ClusteredDistribution;
import org.apache.spark.sql.catalyst.plans.physical.Distribution;
import org.apache.spark.sql.catalyst.plans.physical.Partitioning;
import org.apache.spark.sql.catalyst.plans.physical.ShuffleSpec;
import org.apache.spark.sql.catalyst.plans.physical.UnknownPartitioning;
import org.apache.spark.sql.catalyst.plans.physical.UnspecifiedDistribution$;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Says that partition i has exactly the rows of group i, which a function of the keys tells.
 *
 * Spark knows no such function, so it can never shuffle other rows to meet these groups: two of them
 * meet where the function is the same, or rows are shuffled as ever. An expression, so that Spark
 * follows its keys through projections.
 */
public final class KeyGroups extends Expression implements Partitioning, java.io.Serializable {
  /** With the types of the keys; equal for equal functions alone. */
  private final String function;
  private final int groups;
  private final scala.collection.immutable.Seq keys;

  public KeyGroups(String function, int groups, scala.collection.immutable.Seq keys) {
    this.function = function;
    this.groups = groups;
    this.keys = keys;
  }

  String function() {
    return function;
  }

  scala.collection.immutable.Seq keys() {
    return keys;
  }

  public int numPartitions() {
    return groups;
  }

  public boolean satisfies(Distribution required) {
    scala.Option number = required.requiredNumPartitions();
    return (number.isEmpty() || ((Integer) number.get()).intValue() == groups)
        && satisfies0(required);
  }

  public boolean satisfies0(Distribution required) {
    if (required == UnspecifiedDistribution$.MODULE$) {
      return true;
    }
    if (required == AllTuples$.MODULE$) {
      return groups == 1;
    }
    if (!(required instanceof ClusteredDistribution)) {
      return false;
    }
    ClusteredDistribution clustered = (ClusteredDistribution) required;
    if (clustered.requireAllClusterKeys()) {
      return clustered.areAllClusterKeysMatched(keys);
    }
    for (int i = 0; i < keys.length(); i++) {
      if (!isAmong((Expression) keys.apply(i), clustered.clustering())) {
        return false;
      }
    }
    return true;
  }

  private static boolean isAmong(Expression key, scala.collection.immutable.Seq clustering) {
    for (int i = 0; i < clustering.length(); i++) {
      if (key.semanticEquals((Expression) clustering.apply(i))) {
        return true;
      }
    }
    return false;
  }

  /** Says whether rows of equal join keys are in the same groups: key after key with its like. */
  boolean pairsUp(KeyGroups other, scala.collection.immutable.Seq joined,
      scala.collection.immutable.Seq with) {
    if (!function.equals(other.function) || groups != other.groups
        || keys.length() != other.keys.length() || joined.length() != with.length()) {
      return false;
    }
    for (int i = 0; i < keys.length(); i++) {
      boolean found = false;
      for (int place = 0; place < joined.length(); place++) {
        found = found
            || ((Expression) keys.apply(i)).semanticEquals((Expression) joined.apply(place))
            && ((Expression) other.keys.apply(i)).semanticEquals((Expression) with.apply(place));
      }
      if (!found) {
        return false;
      }
    }
    return true;
  }

  public ShuffleSpec createShuffleSpec(ClusteredDistribution distribution) {
    return new KeyGroupsSpec(this, distribution);
  }

  public scala.collection.immutable.Seq children() {
    return keys;
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new KeyGroups(function, groups, children.toSeq());
  }

  public boolean nullable() {
    return false;
  }

  public DataType dataType() {
    return DataTypes.IntegerType;
  }

  public Object eval(InternalRow row) {
    throw new UnsupportedOperationException(toString());
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    throw new UnsupportedOperationException(toString());
  }

  /** As GroupedScan's. */
  protected Object writeReplace() {
    return new UnknownPartitioning(groups);
  }

  public Object productElement(int place) {
    return place == 0 ? (Object) function : place == 1 ? (Object) Integer.valueOf(groups) : keys;
  }

  public int productArity() {
    return 3;
  }

  public boolean canEqual(Object other) {
    return other instanceof KeyGroups;
  }

  public boolean equals(Object other) {
    return other instanceof KeyGroups && ((KeyGroups) other).function.equals(function)
        && ((KeyGroups) other).groups == groups && ((KeyGroups) other).keys.equals(keys);
  }

  public int hashCode() {
    return 31 * (31 * function.hashCode() + groups) + keys.hashCode();
  }

  public String toString() {
    return groups + " groups by " + function + " of " + keys.mkString(", ");
  }
}
