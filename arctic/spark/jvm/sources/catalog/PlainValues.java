package arctic.spark.catalog;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.unsafe.types.UTF8String;

/** Values as Spark holds them inside, and as JSON does: texts, whole numbers, lists and maps. */
final class PlainValues {
  private PlainValues() {}

  /** Returns a value for JSON; what lists and maps hold are texts. */
  static Object plain(Object value) {
    if (value instanceof UTF8String) {
      return value.toString();
    }
    if (value instanceof ArrayData) {
      return texts((ArrayData) value);
    }
    if (value instanceof MapData) {
      List names = texts(((MapData) value).keyArray());
      List values = texts(((MapData) value).valueArray());
      Map all = new LinkedHashMap();
      for (int i = 0; i < names.size(); i++) {
        all.put(names.get(i), values.get(i));
      }
      return all;
    }
    return value;
  }

  /**
   * Returns a value of JSON as Spark holds one of a type; a date comes in days, a time in
   * microseconds, a decimal as its text.
   */
  static Object internal(Object value, DataType type) {
    if (value instanceof String && type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return Decimal.apply(new java.math.BigDecimal((String) value), decimal.precision(),
          decimal.scale());
    }
    if (value instanceof String) {
      return UTF8String.fromString((String) value);
    }
    if (value instanceof List) {
      List values = (List) value;
      Object[] all = new Object[values.size()];
      for (int i = 0; i < all.length; i++) {
        all[i] = internal(values.get(i), ((ArrayType) type).elementType());
      }
      return new GenericArrayData(all);
    }
    if (!(value instanceof Number)) {
      return value;
    }
    if (DataTypes.DoubleType.equals(type)) {
      return Double.valueOf(((Number) value).doubleValue());
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Integer.valueOf(((Number) value).intValue());
    }
    return Long.valueOf(((Number) value).longValue());
  }

  private static List texts(ArrayData array) {
    List all = new ArrayList();
    for (int i = 0; i < array.numElements(); i++) {
      all.add(array.isNullAt(i) ? null : array.getUTF8String(i).toString());
    }
    return all;
  }
}
