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
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
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
  /** Begins the names of what is stored in the columns that a table trusts. */
  static final String STORED = "_arctic_stored_";
  private static final int DELETE = 1;
  private static final int UPDATE = 2;

  private final scala.collection.immutable.Seq output;
  private final ProjectingInternalRow row;
  private final ProjectingInternalRow key;
  private final LogicalPlan query;
  private final CatalogTable table;
  /** Null: rows do not tell where the stored ones are. */
  private final StoredPlaces places;

  /** Takes what a delta is made of: its first column says what is done with a row. */
  CommandRows(LogicalPlan query, ProjectingInternalRow row, ProjectingInternalRow key,
      CatalogTable table) {
    this(query, row, key, table, null);
  }

  private CommandRows(LogicalPlan query, ProjectingInternalRow row, ProjectingInternalRow key,
      CatalogTable table, StoredPlaces places) {
    this.query = query;
    this.table = table;
    this.places = places;
    this.output = query.output();
    this.row = row;
    this.key = key;
  }

  /** Returns rows that tell where the stored ones are; null: nobody need know, or can say it. */
  CommandRows telling(DataSourceV2Relation target) {
    StoredPlaces known =
        table.trusted().length == 0 ? null : StoredPlaces.of(query, target, table);
    return known == null ? null : new CommandRows(known.query, row, key, table, known);
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

  /** Returns the keys of rows that are deleted, perhaps with where they are. */
  LogicalPlan keys() {
    List list = new ArrayList();
    for (int i = 0; i < key.schema().length(); i++) {
      list.add(named((Expression) output.apply(ordinal(key, i)), key.schema().apply(i).name()));
    }
    String[] told = places == null ? new String[0] : table.trusted();
    for (int i = 0; i < told.length; i++) {
      list.add(named(places.of(told[i]), told[i]));
    }
    return new Project(Trees.seq(list), query);
  }

  /** Returns whole rows without a word of what they do, perhaps with where the stored ones are. */
  LogicalPlan rows() {
    List list = new ArrayList();
    for (int i = 0; i < row.schema().length(); i++) {
      list.add(named((Expression) output.apply(ordinal(row, i)), row.schema().apply(i).name()));
    }
    List told = places == null ? new ArrayList() : places.told();
    for (int i = 0; i < told.size(); i++) {
      list.add(named((Expression) told.get(i), STORED + i));
    }
    return new Project(Trees.seq(list), query);
  }

  /**
   * Returns rows with what each of them does. Takes whether keys may change, and whether those that
   * stay are to tell where the stored ones are.
   */
  LogicalPlan actions(boolean moves, boolean tells) {
    Expression moved = Literal.create(Boolean.FALSE, DataTypes.BooleanType);
    List before = new ArrayList();
    List after = new ArrayList();
    for (int i = 0; i < row.schema().length(); i++) {
      int k = index(key, row.schema().apply(i).name());
      Expression now = (Expression) output.apply(ordinal(row, i));
      Expression stored = places == null ? null : places.of(row.schema().apply(i).name());
      Expression old = k < 0 ? stored : (Expression) output.apply(ordinal(key, k));
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
      after.add(differ || stored != null ? new If(is(DELETE), old, now) : now);
    }
    Expression updated = moves ? new If(moved, text("I"), text("U")) : text("U");
    after.add(new If(is(DELETE), text("D"), new If(is(UPDATE), updated, text("I"))));
    List names = names(row);
    if (!moves) {
      if (tells) {
        after.addAll(places.told());
      }
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

  /**
   * Returns rows of these values, and in order: those of names, what they do, and then where the
   * stored ones are.
   */
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
    for (int i = names.size() + 1; i < values.size(); i++) {
      list.add(named((Expression) values.get(i), STORED + (i - names.size() - 1)));
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
