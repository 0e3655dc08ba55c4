package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Filters as nested lists: the name of a predicate, then its operands as Protocol makes them.
 *
 * A reader may use them to leave rows out; Spark evaluates them all the same.
 */
public final class Hints {
  /** Alternations of AND, OR and NOT in a hint; a deeper one is left to Spark alone. */
  private static final int MAX_DEPTH = 40;

  private Hints() {}

  /** Returns a predicate as nested lists, or null when some part of it has no such form. */
  public static List of(Predicate predicate) {
    return encoded(predicate, 0);
  }

  /**
   * A chain of ANDs or ORs, which Spark has one inside the other, is one list: neither JSON nor
   * Python goes down a thousand levels.
   */
  private static List encoded(Predicate predicate, int depth) {
    if (depth > MAX_DEPTH) {
      return null;
    }
    String name = predicate.name();
    boolean joins = name.equals("AND") || name.equals("OR");
    ArrayList parts = new ArrayList();
    parts.add(name);
    ArrayList waiting = new ArrayList();
    addReversed(waiting, predicate.children());
    while (!waiting.isEmpty()) {
      Expression child = (Expression) waiting.remove(waiting.size() - 1);
      if (joins && child instanceof Predicate && ((Predicate) child).name().equals(name)) {
        addReversed(waiting, ((Predicate) child).children());
        continue;
      }
      Object part = operand(child, depth + 1);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return parts;
  }

  private static void addReversed(ArrayList waiting, Expression[] children) {
    for (int i = children.length - 1; i >= 0; i--) {
      waiting.add(children[i]);
    }
  }

  private static Object operand(Expression expression, int depth) {
    if (expression instanceof Predicate) {
      return encoded((Predicate) expression, depth);
    }
    if (expression instanceof NamedReference) {
      String[] names = ((NamedReference) expression).fieldNames();
      return names.length == 1 ? Protocol.column(names[0]) : null;
    }
    if (expression instanceof Literal) {
      Literal literal = (Literal) expression;
      return literal.value() == null ? null : value(literal.value(), literal.dataType());
    }
    return null;
  }

  /**
   * Returns a value that is not null as an operand; null: it has no exact form. Values are Spark's
   * internal ones, which are Iceberg's too: days, microseconds, in UTC.
   */
  public static Object value(Object value, DataType type) {
    if (type instanceof DecimalType) {
      return Protocol.decimal(value);
    }
    if (type.equals(DataTypes.BinaryType)) {
      return Protocol.binary((byte[]) value);
    }
    if (type.equals(DataTypes.StringType)) {
      // Of another type with a collation, under which other texts are equal too.
      String text = value.toString();
      return UTF8String.fromString(text).equals(value) ? Protocol.value(text) : null;
    }
    boolean exact = type.equals(DataTypes.BooleanType) || type.equals(DataTypes.IntegerType)
        || type.equals(DataTypes.LongType) || type.equals(DataTypes.DateType)
        || type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType);
    return exact ? Protocol.value(value) : null;
  }
}
