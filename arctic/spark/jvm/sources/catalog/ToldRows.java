package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** Rows that Python answered a question with. */
final class ToldRows implements LocalScan {
  private final StructType schema;
  private final List rows;
  /** Names of tables that have other rows after the call. */
  final List changed;

  ToldRows(Map answer) {
    CatalogProtocol.RowsAnswer told = new CatalogProtocol.RowsAnswer(answer);
    schema = (StructType) DataType.fromJson(Protocol.json(told.schema));
    rows = told.rows;
    changed = told.changed;
  }

  public StructType readSchema() {
    return schema;
  }

  public InternalRow[] rows() {
    InternalRow[] all = new InternalRow[rows.size()];
    for (int i = 0; i < all.length; i++) {
      List values = (List) rows.get(i);
      Object[] row = new Object[schema.length()];
      for (int j = 0; j < row.length; j++) {
        row[j] = PlainValues.internal(values.get(j), schema.apply(j).dataType());
      }
      all[i] = new GenericInternalRow(row);
    }
    return all;
  }
}
