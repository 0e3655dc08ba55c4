package arctic.spark.catalog;

import arctic.spark.Hints;
import arctic.spark.Protocol;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BinaryArithmetic;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Multiply;
import org.apache.spark.sql.catalyst.expressions.Subtract;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * What an UPDATE or MERGE sets columns to as nested lists, where every engine has the same value for
 * it: the values of the statement, columns, and sums, differences and products of whole numbers
 * which must not overflow.
 *
 * All parts of a value have the type of its column, so nothing is cast.
 */
final class SetValues {
  private final DataSourceV2Relation target;
  private final CatalogTable table;
  /** Null: there are no columns but those of the table. */
  private final LogicalPlan source;
  /** Columns of the source that were named so far. */
  final List used = new ArrayList();

  SetValues(DataSourceV2Relation target, CatalogTable table, LogicalPlan source) {
    this.target = target;
    this.table = table;
    this.source = source;
  }

  /** Returns the operands of an UPDATE by the names of columns; null: not all can be said so. */
  static Map of(LogicalPlan query, ProjectingInternalRow row, CatalogTable table) {
    DataSourceV2Relation target = query instanceof Project
        ? KeyJoin.bare(withoutFilters(((Project) query).child()), table) : null;
    if (target == null) {
      return null;
    }
    SetValues values = new SetValues(target, table, null);
    Map found = new LinkedHashMap();
    for (int i = 0; i < row.schema().length(); i++) {
      Expression made =
          (Expression) ((Project) query).projectList().apply(CommandRows.ordinal(row, i));
      String name = row.schema().apply(i).name();
      if (Arrays.asList(table.key()).contains(name) ? !values.isItself(made, name)
          : !values.take(name, made, found)) {
        return null;
      }
    }
    return found;
  }

  /** Adds the operand of a column that does not keep its value; returns false: it has none. */
  boolean take(String name, Expression made, Map found) {
    if (isItself(made, name)) {
      return true;
    }
    Object said = operand(bare(made), table.schema().apply(name).dataType());
    if (said != null) {
      found.put(name, said);
    }
    return said != null;
  }

  private boolean isItself(Expression made, String name) {
    return isColumn(bare(made)) && ((Attribute) bare(made)).name().equals(name);
  }

  private static Expression bare(Expression made) {
    return made instanceof Alias ? ((Alias) made).child() : made;
  }

  private static LogicalPlan withoutFilters(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (below instanceof Filter || below instanceof Project) {
      below = (LogicalPlan) below.children().apply(0);
    }
    return below;
  }

  private boolean isColumn(Expression value) {
    return value instanceof Attribute && target.outputSet().contains((Attribute) value);
  }

  private Object operand(Expression value, DataType type) {
    if (!value.dataType().equals(type)) {
      return null;
    }
    if (value instanceof Literal) {
      Object given = ((Literal) value).value();
      boolean plain = given == null
          || given instanceof Double && !((Double) given).isNaN() && !((Double) given).isInfinite();
      return plain ? Protocol.value(given) : Hints.value(given, type);
    }
    if (isColumn(value)) {
      return Protocol.column(((Attribute) value).name());
    }
    if (source != null && value instanceof Attribute
        && source.outputSet().contains((Attribute) value)) {
      return ofSource((Attribute) value);
    }
    String name = value instanceof Add ? "+" : value instanceof Subtract ? "-"
        : value instanceof Multiply ? "*" : null;
    boolean whole = type.equals(DataTypes.IntegerType) || type.equals(DataTypes.LongType);
    if (name == null || !whole
        || !((BinaryArithmetic) value).evalMode().toString().equals("ANSI")) {
      return null;
    }
    List parts = new ArrayList();
    parts.add(name);
    for (int i = 0; i < 2; i++) {
      Object part = operand((Expression) value.children().apply(i), type);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return parts;
  }

  private List ofSource(Attribute column) {
    int place = 0;
    while (place < used.size() && !((Attribute) used.get(place)).exprId().equals(column.exprId())) {
      place++;
    }
    if (place == used.size()) {
      used.add(column);
    }
    return Arrays.asList(new Object[] {"source", Protocol.value(Integer.valueOf(place))});
  }
}
