package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * The keys of stored rows that a MERGE may match, where its source is values that the plan holds.
 *
 * No row of another key decides anything, whatever the clauses are and whatever else the condition
 * asks. A source that would have to be read for its keys may hold others the second time.
 */
final class ConstantKeys {
  private static final int MOST_VALUES = 1000;

  private final DataSourceV2Relation target;
  private final String[] key;
  private final LogicalPlan source;
  private final List found = new ArrayList();

  private ConstantKeys(DataSourceV2Relation target, String[] key, LogicalPlan source) {
    this.target = target;
    this.key = key;
    this.source = source;
  }

  /** Returns what stored rows fulfil that a MERGE may match, of the key alone; null: not known. */
  static List where(MergeRows merge, CatalogTable table) {
    Join join = KeyJoin.joinOf(merge.child());
    if (join == null || !merge.notMatchedBySourceInstructions().isEmpty()
        || CommandReads.leaves(merge) != 2) {
      return null;
    }
    List tests = new ArrayList();
    LogicalPlan stored = join.left();
    LogicalPlan source = join.right();
    DataSourceV2Relation target = KeyJoin.bare(below(stored, tests), table);
    if (target == null) {
      tests.clear();
      stored = join.right();
      source = join.left();
      target = KeyJoin.bare(below(stored, tests), table);
    }
    if (target == null || BlindMerge.reads(source, table)) {
      return null;
    }
    ConstantKeys keys = new ConstantKeys(target, table.key(), source);
    for (int i = 0; i < tests.size(); i++) {
      keys.take((Expression) tests.get(i));
    }
    if (join.condition().isDefined()) {
      keys.take((Expression) join.condition().get());
    }
    return keys.found.isEmpty() ? null : keys.found;
  }

  /** Returns what is below filters, which go to a list. */
  private static LogicalPlan below(LogicalPlan plan, List tests) {
    LogicalPlan below = plan;
    while (below instanceof Project || below instanceof Filter) {
      if (below instanceof Filter) {
        tests.add(((Filter) below).condition());
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
      takeBoth(condition, ((EqualTo) condition).left(), ((EqualTo) condition).right());
    } else if (condition instanceof EqualNullSafe) {
      takeBoth(condition, ((EqualNullSafe) condition).left(), ((EqualNullSafe) condition).right());
    }
  }

  private void takeBoth(Expression condition, Expression left, Expression right) {
    Expression test = null;
    if (isKey(left)) {
      test = right instanceof Literal ? condition : among((Attribute) left, right);
    } else if (isKey(right)) {
      test = left instanceof Literal ? condition : among((Attribute) right, left);
    }
    List hints = test == null ? null : CommandReads.hints(test);
    if (hints != null) {
      found.addAll(hints);
    }
  }

  private boolean isKey(Expression expression) {
    DataType type = expression.dataType();
    // To Spark -0.0 and 0.0 are equal; as keys they differ.
    if (!(expression instanceof Attribute) || type.equals(DataTypes.DoubleType)
        || type.equals(DataTypes.FloatType)
        || !target.outputSet().contains((Attribute) expression)) {
      return false;
    }
    for (int i = 0; i < key.length; i++) {
      if (key[i].equals(((Attribute) expression).name())) {
        return true;
      }
    }
    return false;
  }

  /** Returns what says that a column has a value that the source has in another; null: unknown. */
  private Expression among(Attribute column, Expression of) {
    Cast cast = of instanceof Cast ? (Cast) of : null;
    Expression sought = cast == null ? of : cast.child();
    if (!of.dataType().equals(column.dataType())
        || !Cast$.MODULE$.canUpCast(sought.dataType(), of.dataType())) {
      return null;
    }
    LogicalPlan plan = source;
    while (plan.children().length() == 1 && sought instanceof Attribute) {
      sought = plan instanceof Project
          ? resolved(((Project) plan).projectList(), (Attribute) sought) : sought;
      plan = (LogicalPlan) plan.children().apply(0);
    }
    if (sought instanceof Literal) {
      return new EqualTo(column, upCast((Literal) sought, cast));
    }
    int place = sought instanceof Attribute ? place(plan, (Attribute) sought) : -1;
    if (place >= 0 && plan instanceof Range && cast == null) {
      return within(column, (Range) plan);
    }
    return place >= 0 && plan instanceof LocalRelation
        ? in(column, (LocalRelation) plan, place, sought.dataType(), cast) : null;
  }

  /** Returns a value of the source as one of the key; the cast may be null. */
  private static Literal upCast(Literal value, Cast cast) {
    if (cast == null) {
      return value;
    }
    List child = new ArrayList();
    child.add(value);
    Expression wider = (Expression) cast.withNewChildren(Trees.seq(child));
    return new Literal(wider.eval(null), cast.dataType());
  }

  /** Returns which column of a plan that is, whatever names stand before it. */
  private static int place(LogicalPlan plan, Attribute column) {
    for (int i = 0; i < plan.output().length(); i++) {
      if (((Attribute) plan.output().apply(i)).exprId().equals(column.exprId())) {
        return i;
      }
    }
    return -1;
  }

  /** Returns what a column of a projection is of the plan below; null: computed. */
  private static Expression resolved(scala.collection.immutable.Seq list, Attribute column) {
    for (int i = 0; i < list.length(); i++) {
      NamedExpression each = (NamedExpression) list.apply(i);
      if (each.exprId().equals(column.exprId())) {
        Expression value = each instanceof Alias ? ((Alias) each).child() : (Expression) each;
        return value instanceof Attribute || value instanceof Literal ? value : null;
      }
    }
    return null;
  }

  private static Expression within(Attribute column, Range range) {
    if (range.numElements().signum() == 0) {
      return null;
    }
    long first = range.start();
    long last = range.numElements().$minus(scala.math.BigInt.apply(1))
        .$times(scala.math.BigInt.apply(range.step()))
        .$plus(scala.math.BigInt.apply(first)).toLong();
    return new And(
        new GreaterThanOrEqual(column, number(Math.min(first, last))),
        new LessThanOrEqual(column, number(Math.max(first, last))));
  }

  private static Expression in(Attribute column, LocalRelation rows, int place, DataType type,
      Cast cast) {
    List values = new ArrayList();
    for (int i = 0; i < rows.data().length(); i++) {
      Object value = ((InternalRow) rows.data().apply(i)).get(place, type);
      if (value != null) {
        values.add(upCast(new Literal(value, type), cast));
      }
    }
    boolean known = !values.isEmpty() && values.size() <= MOST_VALUES;
    return known ? new In(column, Trees.seq(values)) : null;
  }

  private static Literal number(long value) {
    return new Literal(Long.valueOf(value), DataTypes.LongType);
  }
}
