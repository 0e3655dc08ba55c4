package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.AtomicType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The stored rows that a MERGE may match, as tests of their columns by the values of its source.
 *
 * No other row decides anything, whatever the clauses are and whatever else the condition asks, as
 * long as nothing is done with rows that no row of the source matches. So no other is read, and who
 * changes another one is not in the way.
 */
final class SoughtRows {
  final LogicalPlan source;
  private final LogicalPlan merge;
  private final CatalogTable table;
  private final DataSourceV2Relation target;
  /** Of any columns, for the scan. */
  private final List tests = new ArrayList();
  /** Of the key alone, as hints. */
  private final List keys = new ArrayList();
  /** Pairs of a column, and one of the source whose values are not known. */
  private final List open = new ArrayList();
  /** A hint for the scan; null: its rows may be in any node. */
  private List nodes;

  private SoughtRows(LogicalPlan merge, CatalogTable table, DataSourceV2Relation target,
      LogicalPlan source) {
    this.merge = merge;
    this.table = table;
    this.target = target;
    this.source = source;
  }

  /** Takes what is above the join of a MERGE; returns null where any row may be looked at. */
  static SoughtRows of(LogicalPlan merge, CatalogTable table) {
    if (merge instanceof MergeRows
        && !((MergeRows) merge).notMatchedBySourceInstructions().isEmpty()) {
      return null;
    }
    Join join = KeyJoin.joinOf(
        merge instanceof MergeRows ? ((MergeRows) merge).child() : merge);
    if (join == null) {
      return null;
    }
    List filters = new ArrayList();
    LogicalPlan source = join.right();
    DataSourceV2Relation target = KeyJoin.bare(below(join.left(), filters), table);
    if (target == null) {
      filters.clear();
      source = join.left();
      target = KeyJoin.bare(below(join.right(), filters), table);
    }
    if (target == null) {
      return null;
    }
    SoughtRows sought = new SoughtRows(merge, table, target, source);
    for (int i = 0; i < filters.size(); i++) {
      sought.take((Expression) filters.get(i));
    }
    if (join.condition().isDefined()) {
      sought.take((Expression) join.condition().get());
    }
    return sought;
  }

  /** Returns tests of the key that all rows fulfil which it looks at; null: not known. */
  List keys() {
    boolean alone = CommandReads.leaves(merge) == 2 && !BlindMerge.reads(source, table);
    return alone && !keys.isEmpty() ? keys : null;
  }

  /** Returns whether values of the source would say more, and may be found out beforehand. */
  boolean isOpen() {
    return !open.isEmpty() && !source.isStreaming() && CommandReads.leaves(source) > 0
        && !BlindMerge.reads(source, table) && !Uncached.reads(source, table)
        && !Uncached.takes(source, table);
  }

  /** Returns the same of a MERGE with these rows for its source, which have its columns. */
  SoughtRows withSource(LogicalPlan values) {
    Put put = new Put().at(source, values);
    return of(put.rewritten(merge), table);
  }

  /** Returns the same where rows that are held stand for the source: what it said goes for them. */
  SoughtRows withHeld(LogicalPlan rows) {
    Put put = new Put().at(source, rows);
    SoughtRows same = new SoughtRows(put.rewritten(merge), table, target, rows);
    same.tests.addAll(tests);
    same.keys.addAll(keys);
    same.open.addAll(open);
    return same;
  }

  /** Returns what columns of the table are compared with, where that is not known. */
  List openValues() {
    List values = new ArrayList();
    for (int i = 0; i < open.size(); i++) {
      values.add(((Expression[]) open.get(i))[1]);
    }
    return values;
  }

  /** Returns the names of these columns; null for one that is compared as another type. */
  List openColumns() {
    List names = new ArrayList();
    for (int i = 0; i < open.size(); i++) {
      Expression column = ((Expression[]) open.get(i))[0];
      names.add(column instanceof Attribute ? ((Attribute) column).name() : null);
    }
    return names;
  }

  /** Takes what is known of these values by now. */
  void learn(CatalogProtocol.SoughtAnswer told) {
    for (int i = 0; i < open.size(); i++) {
      Expression column = ((Expression[]) open.get(i))[0];
      List ranges = (List) told.columns.get(i);
      if (ranges != null) {
        addTest(column, SourceValues.within(column, ranges), told.readsLess);
      }
    }
    nodes = told.nodes;
  }

  /** Returns a plan that was made of the MERGE, and reads of the table these rows alone. */
  LogicalPlan narrowed(LogicalPlan plan) {
    return tests.isEmpty() && nodes == null ? plan : new Put().at(target, filtered()).rewritten(plan);
  }

  /** Returns the same with other rows for the source; null: the plan does not hold it as it was. */
  LogicalPlan narrowed(LogicalPlan plan, SoughtRows before) {
    Put put = new Put().at(before.source, source);
    LogicalPlan other = put.rewritten(plan);
    if (put.count != 1) {
      return null;
    }
    return narrowed(other);
  }

  private LogicalPlan filtered() {
    LogicalPlan rows =
        nodes == null ? target : Trees.with(target, 0, new NodesOfTable(table, nodes));
    if (tests.isEmpty()) {
      return rows;
    }
    Expression all = (Expression) tests.get(0);
    for (int i = 1; i < tests.size(); i++) {
      all = new And(all, (Expression) tests.get(i));
    }
    return new Filter(all, rows);
  }

  /** Returns what is below filters, which go to a list. */
  private static LogicalPlan below(LogicalPlan plan, List filters) {
    LogicalPlan below = plan;
    while (below instanceof Project || below instanceof Filter) {
      if (below instanceof Filter) {
        filters.add(((Filter) below).condition());
      }
      below = (LogicalPlan) below.children().apply(0);
    }
    return below;
  }

  private void take(Expression condition) {
    if (condition instanceof And) {
      take(((And) condition).left());
      take(((And) condition).right());
    } else if (condition instanceof EqualTo) {
      EqualTo equal = (EqualTo) condition;
      takeBoth(condition, equal.left(), equal.right());
    } else if (condition instanceof EqualNullSafe) {
      EqualNullSafe equal = (EqualNullSafe) condition;
      // A null would have to be among the values: that of another column may be.
      if (isKey(equal.left()) || isKey(equal.right())) {
        takeBoth(condition, equal.left(), equal.right());
      }
    }
  }

  private void takeBoth(Expression condition, Expression left, Expression right) {
    if (isColumn(left)) {
      takeOne(condition, left, right);
    } else if (isColumn(right)) {
      takeOne(condition, right, left);
    }
  }

  private void takeOne(Expression condition, Expression column, Expression with) {
    Expression test = with instanceof Literal ? condition
        : SourceValues.test(column, with, source);
    if (test == null) {
      if (SourceValues.mayBeFound(column, with, source)) {
        open.add(new Expression[] {column, with});
      }
      return;
    }
    addTest(column, test, true);
  }

  private void addTest(Expression column, Expression test, boolean isForScan) {
    if (isForScan) {
      tests.add(test);
    }
    List hints = isKey(column) ? CommandReads.hints(test) : null;
    if (hints != null) {
      keys.addAll(hints);
    }
  }

  /** Returns whether it is a column of the table, perhaps as a wider type. */
  private boolean isColumn(Expression expression) {
    Expression column = expression;
    if (expression instanceof Cast) {
      column = ((Cast) expression).child();
      if (!Cast$.MODULE$.canUpCast(column.dataType(), expression.dataType())
          || !isExact(expression.dataType())) {
        return false;
      }
    }
    return column instanceof Attribute && isExact(column.dataType())
        && target.outputSet().contains((Attribute) column);
  }

  private boolean isKey(Expression expression) {
    if (!(expression instanceof Attribute) || !isColumn(expression)) {
      return false;
    }
    String[] key = table.key();
    for (int i = 0; i < key.length; i++) {
      if (key[i].equals(((Attribute) expression).name())) {
        return true;
      }
    }
    return false;
  }

  /** To Spark -0.0 and 0.0 are equal; as keys they differ. */
  private static boolean isExact(DataType type) {
    return type instanceof AtomicType && !type.equals(DataTypes.DoubleType)
        && !type.equals(DataTypes.FloatType);
  }

  /** Puts plans where others stood, which are told apart as objects. */
  private static final class Put extends Trees {
    private LogicalPlan old;
    private LogicalPlan other;
    int count;

    public String ruleName() {
      return "arctic.spark.SoughtRows";
    }

    Put at(LogicalPlan old, LogicalPlan other) {
      this.old = old;
      this.other = other;
      return this;
    }

    public LogicalPlan inPlaceOf(LogicalPlan node) {
      if (node != old) {
        return null;
      }
      count++;
      return other;
    }
  }
}
