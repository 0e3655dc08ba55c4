package arctic.spark.catalog;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * A join whose condition is equality of the whole key, with a table of which every row takes part.
 *
 * So a row of the source matches exactly the stored row of its key, if there is one.
 */
final class KeyJoin {
  final LogicalPlan source;
  final DataSourceV2Relation target;
  /** What of the source a column of the key equals, by its name. */
  private final Map equal = new HashMap();

  private KeyJoin(LogicalPlan source, DataSourceV2Relation target) {
    this.source = source;
    this.target = target;
  }

  /** Returns null where a join says more or less than that, or something else stands there. */
  static KeyJoin of(LogicalPlan plan, CatalogTable table) {
    Join join = joinOf(plan);
    if (join == null || join.condition().isEmpty()) {
      return null;
    }
    DataSourceV2Relation left = bare(join.left(), table);
    DataSourceV2Relation right = bare(join.right(), table);
    if ((left == null) == (right == null)) {
      return null;
    }
    KeyJoin found = left == null ? new KeyJoin(join.left(), right)
        : new KeyJoin(join.right(), left);
    boolean exact = found.take((Expression) join.condition().get());
    String[] key = table.key();
    for (int i = 0; i < key.length; i++) {
      exact = exact && found.equal.containsKey(key[i]);
    }
    return exact && found.equal.size() == key.length ? found : null;
  }

  /** Returns what of the source a column of the key equals. */
  Expression of(String column) {
    return (Expression) equal.get(column);
  }

  /** Returns whether a value is sure to be that of the stored key, or of the key searched for. */
  boolean keeps(Expression value, String column, boolean isMatched) {
    Expression plain = plain(value);
    if (isMatched && of(column).semanticEquals(plain)) {
      return true;
    }
    return plain instanceof Attribute && target.outputSet().contains((Attribute) plain)
        && ((Attribute) plain).name().equals(column);
  }

  /** Returns a value without the test that Spark puts around one that must not be null. */
  static Expression plain(Expression value) {
    Expression plain = value;
    while (plain instanceof AssertNotNull) {
      plain = ((AssertNotNull) plain).child();
    }
    return plain;
  }

  static Join joinOf(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (below instanceof Project) {
      below = ((Project) below).child();
    }
    return below instanceof Join ? (Join) below : null;
  }

  /** Returns the relation of a table that nothing was taken out of; null: it is not that. */
  static DataSourceV2Relation bare(LogicalPlan plan, CatalogTable table) {
    LogicalPlan below = plan;
    while (below instanceof Project) {
      below = ((Project) below).child();
    }
    if (!(below instanceof DataSourceV2Relation)) {
      return null;
    }
    Table read = ((DataSourceV2Relation) below).table();
    boolean same = read == table || (read instanceof RowLevelOperationTable
        && ((RowLevelOperationTable) read).table() == table);
    return same ? (DataSourceV2Relation) below : null;
  }

  private boolean take(Expression condition) {
    if (condition instanceof And) {
      return take(((And) condition).left()) && take(((And) condition).right());
    }
    if (condition instanceof EqualTo) {
      return takeBoth(((EqualTo) condition).left(), ((EqualTo) condition).right());
    }
    return condition instanceof EqualNullSafe
        && takeBoth(((EqualNullSafe) condition).left(), ((EqualNullSafe) condition).right());
  }

  private boolean takeBoth(Expression left, Expression right) {
    return takeOne(left, right) || takeOne(right, left);
  }

  private boolean takeOne(Expression of, Expression with) {
    DataType type = of.dataType();
    // To Spark -0.0 and 0.0 are equal; as keys they differ.
    if (!(of instanceof Attribute) || !target.outputSet().contains((Attribute) of)
        || type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType)) {
      return false;
    }
    boolean fits = with.deterministic() && with.dataType().equals(type)
        && with.references().subsetOf(source.outputSet());
    return fits && equal.put(((Attribute) of).name(), with) == null;
  }
}
