package arctic.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The one row of a query for aggregates that metadata answers. */
public final class KnownRow implements LocalScan {
  private final StructType schema;
  private final Object[] values;

  private KnownRow(StructType schema, Object[] values) {
    this.schema = schema;
    this.values = values;
  }

  /** Returns null where the rows must be read. */
  public static KnownRow of(Function planner, Pins pins, StructType relation,
      CaseInsensitiveStringMap options, Aggregation asked) {
    AggregateFunc[] functions = asked.aggregateExpressions();
    if (planner == null || asked.groupByExpressions().length > 0) {
      return null;
    }
    StructField[] fields = new StructField[functions.length];
    ArrayList named = new ArrayList();
    for (int i = 0; i < functions.length; i++) {
      List name = AskedAggregates.named(functions[i]);
      // Where a row is stored is no column of the table.
      if (name == null || name.get(0).equals("sum")
          || name.size() > 1 && relation.getFieldIndex((String) name.get(1)).isEmpty()) {
        return null;
      }
      DataType type = name.get(0).equals("min") || name.get(0).equals("max")
          ? relation.apply((String) name.get(1)).dataType() : DataTypes.LongType;
      fields[i] = new StructField(functions[i].toString(), type, true, Metadata.empty());
      named.add(name);
    }
    Map pinned = pins.ofThisQuery();
    Map table = Pins.table(options);
    Map answer = Protocol.asked(planner, Protocol.aggregates(
        options.asCaseSensitiveMap(), relation, named, pins.nameOfThisQuery(),
        (String) pinned.get(table)));
    if (answer == null) {
      return null;
    }
    Protocol.AggregatesAnswer told = new Protocol.AggregatesAnswer(answer);
    pinned.put(table, told.pin);
    Object[] values = new Object[fields.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = internal(told.values.get(i), fields[i].dataType());
    }
    return new KnownRow(new StructType(fields), values);
  }

  private static Object internal(Object value, DataType type) {
    if (value == null) {
      return null;
    }
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal.apply(new java.math.BigDecimal((String) value), decimal.precision(),
          decimal.scale());
    }
    long number = ((Number) value).longValue();
    boolean isShort = type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType);
    return isShort ? (Object) Integer.valueOf(Math.toIntExact(number)) : (Object) Long.valueOf(number);
  }

  public StructType readSchema() {
    return schema;
  }

  public InternalRow[] rows() {
    return new InternalRow[] {new GenericInternalRow(values)};
  }

  public String description() {
    return "(Arctic) from metadata: " + Arrays.toString(schema.fieldNames());
  }
}
