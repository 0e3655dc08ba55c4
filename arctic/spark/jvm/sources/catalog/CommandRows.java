package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Expand;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.DataTypes;

/**
 * What Spark would write row by row, as rows that the writer takes: what each does, and in order.
 *
 * A row whose key changes is two: its old key is deleted, and it is inserted under the new one. All
 * deletes of a command come before its rows, so keys may be swapped.
 */
final class CommandRows {
  static final String ACTION = "_arctic_action";
  static final String ORDER = "_arctic_order";
  private static final int DELETE = 1;
  private static final int UPDATE = 2;

  private final scala.collection.immutable.Seq output;
  private final ProjectingInternalRow row;
  private final ProjectingInternalRow key;
  private final LogicalPlan query;
  private final CatalogTable table;

  /** Takes what a delta is made of: its first column says what is done with a row. */
  CommandRows(LogicalPlan query, ProjectingInternalRow row, ProjectingInternalRow key,
      CatalogTable table) {
    this.query = query;
    this.table = table;
    this.output = query.output();
    this.row = row;
    this.key = key;
  }

  /** Returns whether Spark keeps the stored key apart from the one that a row has afterwards. */
  boolean mayMove() {
    for (int i = 0; i < row.schema().length(); i++) {
      int k = index(key, row.schema().apply(i).name());
      if (k >= 0 && ordinal(key, k) != ordinal(row, i)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the keys of rows that are deleted. */
  LogicalPlan keys() {
    List list = new ArrayList();
    for (int i = 0; i < key.schema().length(); i++) {
      list.add(named((Expression) output.apply(ordinal(key, i)), key.schema().apply(i).name()));
    }
    return new Project(Trees.seq(list), query);
  }

  /** Returns whole rows without a word of what they do. */
  LogicalPlan rows() {
    List list = new ArrayList();
    for (int i = 0; i < row.schema().length(); i++) {
      list.add(named((Expression) output.apply(ordinal(row, i)), row.schema().apply(i).name()));
    }
    return new Project(Trees.seq(list), query);
  }

  /** Returns rows with what each of them does. */
  LogicalPlan actions(boolean moves) {
    Expression moved = Literal.create(Boolean.FALSE, DataTypes.BooleanType);
    List before = new ArrayList();
    List after = new ArrayList();
    for (int i = 0; i < row.schema().length(); i++) {
      int k = index(key, row.schema().apply(i).name());
      Expression now = (Expression) output.apply(ordinal(row, i));
      Expression old = k < 0 ? null : (Expression) output.apply(ordinal(key, k));
      boolean differ = k >= 0 && ordinal(key, k) != ordinal(row, i);
      if (differ) {
        // To Spark -0.0 and 0.0 are equal, as keys they differ: any row of such a key may move.
        boolean floats = old.dataType().equals(DataTypes.DoubleType)
            || old.dataType().equals(DataTypes.FloatType);
        Expression same = floats ? Literal.create(Boolean.FALSE, DataTypes.BooleanType)
            : new EqualNullSafe(old, now);
        moved = new Or(moved, new Not(same));
      }
      before.add(old == null ? Literal.create(null, now.dataType()) : old);
      after.add(differ ? new If(is(DELETE), old, now) : now);
    }
    Expression updated = moves ? new If(moved, text("I"), text("U")) : text("U");
    after.add(new If(is(DELETE), text("D"), new If(is(UPDATE), updated, text("I"))));
    List names = names(row);
    if (!moves) {
      return ordered(names, after, query, table);
    }
    before.add(new If(new And(is(UPDATE), moved), text("D"),
        Literal.create(null, DataTypes.StringType)));
    List made = new ArrayList();
    for (int i = 0; i < after.size(); i++) {
      String name = i < names.size() ? (String) names.get(i) : ACTION;
      made.add(new AttributeReference(name, ((Expression) after.get(i)).dataType(), true,
          org.apache.spark.sql.types.Metadata.empty(), NamedExpression.newExprId(), nothing()));
    }
    List both = new ArrayList();
    both.add(Trees.seq(before));
    both.add(Trees.seq(after));
    Attribute action = (Attribute) made.get(made.size() - 1);
    return ordered(names, made, new Filter(new IsNotNull(action),
        new Expand(Trees.seq(both), Trees.seq(made), query)), table);
  }

  /** Returns rows of these values, the last of which says what they do, and in order. */
  static LogicalPlan ordered(List names, List values, LogicalPlan from, CatalogTable table) {
    List list = new ArrayList();
    for (int i = 0; i < names.size(); i++) {
      list.add(named((Expression) values.get(i), (String) names.get(i)));
    }
    Expression action = (Expression) values.get(names.size());
    list.add(named(action, ACTION));
    if (table.ordering().length == 0) {
      list.add(named(new If(new EqualTo(action, text("D")), number(0), number(1)), ORDER));
    }
    return new Project(Trees.seq(list), from);
  }

  private Expression is(int operation) {
    return new EqualTo((Expression) output.apply(0), number(operation));
  }

  static List names(ProjectingInternalRow row) {
    List names = new ArrayList();
    for (int i = 0; i < row.schema().length(); i++) {
      names.add(row.schema().apply(i).name());
    }
    return names;
  }

  static int ordinal(ProjectingInternalRow row, int i) {
    return ((Integer) row.colOrdinals().apply(i)).intValue();
  }

  static int index(ProjectingInternalRow row, String column) {
    return names(row).indexOf(column);
  }

  static Expression number(int value) {
    return Literal.create(Integer.valueOf(value), DataTypes.IntegerType);
  }

  static Expression text(String value) {
    return Literal.create(value, DataTypes.StringType);
  }

  static NamedExpression named(Expression value, String name) {
    return new Alias(value, name, NamedExpression.newExprId(), nothing(), scala.Option.empty(),
        nothing());
  }

  static scala.collection.immutable.Seq nothing() {
    return Trees.seq(new ArrayList());
  }
}
