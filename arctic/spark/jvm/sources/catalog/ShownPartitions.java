package arctic.spark.catalog;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** The partitions of a table at one moment, as texts: a value of each of the fields they have. */
final class ShownPartitions {
  /** What Hive calls a null: Spark would show it as the text of that name. */
  private static final UTF8String NULL = UTF8String.fromString("__HIVE_DEFAULT_PARTITION__");

  private final ToldRows told;

  /** Takes what says which table it is. */
  ShownPartitions(Map options) {
    told = new ToldRows(Answers.to(CatalogQuestions.partitions(options)));
  }

  StructType names() {
    return told.readSchema();
  }

  /** Returns those that have these values of these fields. */
  InternalRow[] matching(String[] names, InternalRow values) {
    List found = new ArrayList();
    InternalRow[] all = told.rows();
    for (int i = 0; i < all.length; i++) {
      boolean matches = true;
      for (int j = 0; j < names.length; j++) {
        Object wanted = values.isNullAt(j) ? NULL : values.getUTF8String(j);
        matches = matches && value(all[i], names().fieldIndex(names[j])).equals(wanted);
      }
      if (matches) {
        found.add(shown(all[i]));
      }
    }
    return (InternalRow[]) found.toArray(new InternalRow[0]);
  }

  private InternalRow shown(InternalRow row) {
    Object[] values = new Object[names().length()];
    for (int i = 0; i < values.length; i++) {
      values[i] = value(row, i);
    }
    return new GenericInternalRow(values);
  }

  private static UTF8String value(InternalRow row, int field) {
    return row.isNullAt(field) ? NULL : row.getUTF8String(field);
  }

  /** Says what to write instead of what Spark asks of tables whose partitions are folders. */
  static boolean refuse(String table) {
    throw new UnsupportedOperationException("partitions of " + table + " come and go with their "
        + "rows; write DELETE FROM " + table + " WHERE ..., or INSERT INTO");
  }
}
