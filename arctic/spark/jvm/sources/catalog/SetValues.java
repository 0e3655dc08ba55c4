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
 * What an UPDATE sets columns to as nested lists, where every engine has the same value for it: the
 * values of the statement, other columns, and sums, differences and products of whole numbers which
 * must not overflow.
 *
 * All parts of a value have the type of its column, so nothing is cast.
 */
final class SetValues {
  private SetValues() {}

  /** Returns operands by the names of columns; null: some value, or a key, is not said so. */
  static Map of(LogicalPlan query, ProjectingInternalRow row, CatalogTable table) {
    DataSourceV2Relation target = query instanceof Project
        ? KeyJoin.bare(withoutFilters(((Project) query).child()), table) : null;
    if (target == null) {
      return null;
    }
    Map found = new LinkedHashMap();
    for (int i = 0; i < row.schema().length(); i++) {
      String name = row.schema().apply(i).name();
      Expression made =
          (Expression) ((Project) query).projectList().apply(CommandRows.ordinal(row, i));
      Expression value = made instanceof Alias ? ((Alias) made).child() : made;
      if (isColumn(value, target) && ((Attribute) value).name().equals(name)) {
        continue;
      }
      Object said = Arrays.asList(table.key()).contains(name) ? null
          : operand(value, table.schema().apply(name).dataType(), target);
      if (said == null) {
        return null;
      }
      found.put(name, said);
    }
    return found;
  }

  private static LogicalPlan withoutFilters(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (below instanceof Filter || below instanceof Project) {
      below = (LogicalPlan) below.children().apply(0);
    }
    return below;
  }

  private static boolean isColumn(Expression value, DataSourceV2Relation target) {
    return value instanceof Attribute && target.outputSet().contains((Attribute) value);
  }

  private static Object operand(Expression value, DataType type, DataSourceV2Relation target) {
    if (!value.dataType().equals(type)) {
      return null;
    }
    if (value instanceof Literal) {
      Object given = ((Literal) value).value();
      boolean plain = given == null
          || given instanceof Double && !((Double) given).isNaN() && !((Double) given).isInfinite();
      return plain ? Protocol.value(given) : Hints.value(given, type);
    }
    if (isColumn(value, target)) {
      return Protocol.column(((Attribute) value).name());
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
      Object part = operand((Expression) value.children().apply(i), type, target);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return parts;
  }
}
