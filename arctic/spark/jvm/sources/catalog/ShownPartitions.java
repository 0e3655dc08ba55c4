package arctic.spark.catalog;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** The partitions of a table at one moment, as texts: a value of each of the fields they have. */
final class ShownPartitions {
  private final ToldRows told;

  /** Takes what says which table it is. */
  ShownPartitions(Map options) {
    Map question = new LinkedHashMap();
    question.put("ask", "partitions");
    question.put("options", options);
    told = new ToldRows(Questions.answer(question));
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
        Object value = all[i].isNullAt(names().fieldIndex(names[j])) ? null
            : all[i].getUTF8String(names().fieldIndex(names[j]));
        Object wanted = values.isNullAt(j) ? null : values.getUTF8String(j);
        matches = matches && (value == null ? wanted == null : value.equals(wanted));
      }
      if (matches) {
        found.add(all[i]);
      }
    }
    return (InternalRow[]) found.toArray(new InternalRow[0]);
  }

  /** Says what to write instead of what Spark asks of tables whose partitions are folders. */
  static boolean refuse(String table) {
    throw new UnsupportedOperationException("partitions of " + table + " come and go with their "
        + "rows; write DELETE FROM " + table + " WHERE ..., or INSERT INTO");
  }
}
