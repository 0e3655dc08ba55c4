package arctic.spark.catalog;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Changelog;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * What commits did to the rows of a table, as it was asked for: nothing is left to Spark.
 *
 * Python knows whether updates are to be told, and whether the range is one change, so no row comes
 * twice that Spark would have to take away or to call otherwise.
 */
final class TableChanges implements Changelog {
  /** By which readers say what loadChangelog is told, in lower case. */
  private static final String[] TOLD = new String[] {"startingversion", "endingversion",
      "startingtimestamp", "endingtimestamp", "startingboundinclusive", "endingboundinclusive",
      "deduplicationmode", "computeupdates"};
  private final CatalogTable table;
  private final boolean net;

  TableChanges(CatalogTable table, boolean net) {
    this.table = table;
    this.net = net;
  }

  public String name() {
    return table.name();
  }

  public Column[] columns() {
    StructType schema = table.schema();
    Column[] columns = new Column[schema.length()];
    for (int i = 0; i < columns.length; i++) {
      StructField field = schema.apply(i);
      columns[i] = Column.create(field.name(), field.dataType(), field.nullable());
    }
    return columns;
  }

  public boolean containsCarryoverRows() {
    return false;
  }

  public boolean containsIntermediateChanges() {
    return false;
  }

  public boolean representsUpdateAsDeleteAndInsert() {
    return false;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    Map left = new HashMap(options.asCaseSensitiveMap());
    for (Iterator each = left.keySet().iterator(); each.hasNext();) {
      String name = ((String) each.next()).toLowerCase(Locale.ROOT);
      for (int i = 0; i < TOLD.length; i++) {
        if (TOLD[i].equals(name)) {
          each.remove();
          break;
        }
      }
    }
    return new ChangesScan(
        table.schema(), table.with(new CaseInsensitiveStringMap(left)), net);
  }
}
