package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Cast$;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Range;
import org.apache.spark.sql.catalyst.util.TypeUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** What a column has to be to equal one of a source whose values the plan holds. */
final class SourceValues {
  /** Above so many it is said between which they are. */
  private static final int MOST_VALUES = 1000;

  private SourceValues() {}

  /** Returns what says that a column has a value that the source has in another; null: unknown. */
  static Expression test(Expression column, Expression with, LogicalPlan source) {
    Cast cast = with instanceof Cast ? (Cast) with : null;
    Expression sought = sought(column, with);
    if (sought == null) {
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
        ? among(column, (LocalRelation) plan, place, sought.dataType(), cast) : null;
  }

  /** Returns what says that a column is in some ranges, each a list of its two ends. */
  static Expression within(Expression column, List ranges) {
    List values = new ArrayList();
    Expression any = null;
    for (int i = 0; i < ranges.size(); i++) {
      List range = (List) ranges.get(i);
      Literal least = literal(range.get(0), column.dataType());
      if (range.get(0).equals(range.get(1))) {
        values.add(least);
        continue;
      }
      Expression in = between(column, least, literal(range.get(1), column.dataType()));
      any = any == null ? in : new Or(any, in);
    }
    if (values.isEmpty()) {
      // Of a source without a value nothing is equal.
      return any == null ? Literal.create(Boolean.FALSE, DataTypes.BooleanType) : any;
    }
    Expression among = new In(column, Trees.seq(values));
    return any == null ? among : new Or(any, among);
  }

  private static Literal literal(Object value, DataType type) {
    return new Literal(PlainValues.internal(value, type), type);
  }

  /** Returns whether it could be said if the plan held the rows of the source. */
  static boolean mayBeFound(Expression column, Expression with, LogicalPlan source) {
    Expression sought = sought(column, with);
    return sought instanceof Attribute && source.outputSet().contains((Attribute) sought);
  }

  /** Returns what a column is compared with, as it is before it is cast; null: not known here. */
  private static Expression sought(Expression column, Expression with) {
    Expression sought = with instanceof Cast ? ((Cast) with).child() : with;
    return with.dataType().equals(column.dataType())
        && Cast$.MODULE$.canUpCast(sought.dataType(), with.dataType()) ? sought : null;
  }

  /** Returns a value of the source as one of the column; the cast may be null. */
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

  private static Expression within(Expression column, Range range) {
    if (range.numElements().signum() == 0) {
      return null;
    }
    long first = range.start();
    long last = range.numElements().$minus(scala.math.BigInt.apply(1))
        .$times(scala.math.BigInt.apply(range.step()))
        .$plus(scala.math.BigInt.apply(first)).toLong();
    return between(column, number(Math.min(first, last)), number(Math.max(first, last)));
  }

  private static Expression among(Expression column, LocalRelation rows, int place, DataType type,
      Cast cast) {
    List values = new ArrayList();
    Set seen = new HashSet();
    for (scala.collection.Iterator each = rows.data().iterator(); each.hasNext();) {
      Object value = ((InternalRow) each.next()).get(place, type);
      if (value == null || !seen.add(value)) {
        continue;
      }
      // Before they are put in order: numbers have another one than texts of them.
      Literal sought = upCast(new Literal(value, type), cast);
      if (sought.value() != null) {
        values.add(sought);
      }
    }
    if (values.isEmpty()) {
      return Literal.create(Boolean.FALSE, DataTypes.BooleanType);   // null equals nothing
    }
    if (values.size() > MOST_VALUES) {
      return between(column, least(values, column.dataType(), 1),
          least(values, column.dataType(), -1));
    }
    return new In(column, Trees.seq(values));
  }

  /** Returns the least literal, or in the order turned round the greatest. */
  private static Literal least(List values, DataType type, int order) {
    scala.math.Ordering ordering = TypeUtils.getInterpretedOrdering(type);
    Literal least = (Literal) values.get(0);
    for (int i = 1; i < values.size(); i++) {
      Literal each = (Literal) values.get(i);
      if (ordering.compare(each.value(), least.value()) * order < 0) {
        least = each;
      }
    }
    return least;
  }

  private static Expression between(Expression column, Literal least, Literal greatest) {
    return new And(new GreaterThanOrEqual(column, least), new LessThanOrEqual(column, greatest));
  }

  private static Literal number(long value) {
    return new Literal(Long.valueOf(value), DataTypes.LongType);
  }
}
