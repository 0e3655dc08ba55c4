package arctic.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Avg;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.expressions.aggregate.Sum;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Aggregates of columns, as Spark asks for them: by their names, and as columns of a scan. */
final class AskedAggregates {
  /** Names of columns. */
  final List keys = new ArrayList();
  /** Each a list of its kind and its column. */
  final List functions = new ArrayList();
  /** What a scan of them returns: the keys, then the aggregates. */
  StructType yields = new StructType();

  private AskedAggregates() {}

  /** Returns null where some of it is more than columns and aggregates of these. */
  static AskedAggregates of(Aggregation asked, StructType relation, boolean takesFloats) {
    AskedAggregates found = new AskedAggregates();
    Expression[] keys = asked.groupByExpressions();
    AggregateFunc[] functions = asked.aggregateExpressions();
    for (int i = 0; i < keys.length; i++) {
      String name = column(keys[i]);
      if (name == null || !found.take(name, typeIn(relation, name))) {
        return null;
      }
      found.keys.add(name);
    }
    for (int i = 0; i < functions.length; i++) {
      List named = named(functions[i]);
      if (named == null || !found.take(functions[i].toString(),
          yielded(named, relation, takesFloats))) {
        return null;
      }
      found.functions.add(named);
    }
    return found;
  }

  /** Returns its kind and its column; null: none of ours. */
  static List named(AggregateFunc function) {
    if (function instanceof CountStar) {
      return Collections.singletonList("count(*)");
    }
    String kind = function instanceof Min ? "min" : function instanceof Max ? "max"
        : function instanceof Count && !((Count) function).isDistinct() ? "count"
        : function instanceof Sum && !((Sum) function).isDistinct() ? "sum" : null;
    String name = kind == null ? null : column(function.children()[0]);
    return name == null ? null : Arrays.asList(new Object[] {kind, name});
  }

  /** Returns the names of the columns whose averages are asked for. */
  static List averaged(Aggregation asked) {
    ArrayList names = new ArrayList();
    AggregateFunc[] functions = asked.aggregateExpressions();
    for (int i = 0; i < functions.length; i++) {
      String name = functions[i] instanceof Avg ? column(functions[i].children()[0]) : null;
      if (name != null) {
        names.add(name);
      }
    }
    return names;
  }

  private boolean take(String name, DataType type) {
    if (type == null || yields.getFieldIndex(name).isDefined()) {
      return false;
    }
    yields = yields.add(new StructField(name, type, true, Metadata.empty()));
    return true;
  }

  /** Returns null where Spark had better make the aggregate itself. */
  private static DataType yielded(List named, StructType relation, boolean takesFloats) {
    String kind = (String) named.get(0);
    DataType type = named.size() == 1 ? null : typeIn(relation, (String) named.get(1));
    if (kind.startsWith("count")) {
      return named.size() == 1 || type != null ? DataTypes.LongType : null;
    }
    if (!kind.equals("sum")) {
      return type;
    }
    if (type instanceof DecimalType) {
      return type; // Spark adds up what has the type of the column
    }
    if (FloatsUnfiltered.isFloat(type)) {
      return takesFloats ? DataTypes.DoubleType : null;
    }
    return DataTypes.IntegerType.equals(type) || DataTypes.LongType.equals(type)
        ? DataTypes.LongType : null;
  }

  /** Returns null where it is no column of the table, or its texts have an order of their own. */
  private static DataType typeIn(StructType relation, String name) {
    if (relation.getFieldIndex(name).isEmpty()) {
      return null;
    }
    DataType type = relation.apply(name).dataType();
    return type instanceof StringType && !type.equals(DataTypes.StringType) ? null : type;
  }

  private static String column(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] names = ((NamedReference) expression).fieldNames();
    return names.length == 1 ? names[0] : null;
  }
}
