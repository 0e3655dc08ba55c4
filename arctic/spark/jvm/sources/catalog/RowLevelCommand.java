package arctic.spark.catalog;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A DELETE, UPDATE or MERGE: Spark finds the rows, known by their key, or without one by their place
 * in the files, and what becomes of them.
 *
 * What it would have written row by row is written at once, see {@link RewriteRowLevel}.
 */
final class RowLevelCommand implements RowLevelOperationBuilder, SupportsDelta {
  private final CatalogTable table;
  private final RowLevelOperation.Command command;

  RowLevelCommand(CatalogTable table, RowLevelOperation.Command command) {
    if (!table.isWritable()) {
      throw new UnsupportedOperationException(command + " of " + table.name()
          + ": a past state or a metadata table cannot be changed; name the table itself");
    }
    if (table.refusedCommands() != null) {
      throw new UnsupportedOperationException(command + " of " + table.name() + ": "
          + table.refusedCommands());
    }
    List own = Arrays.asList(new String[] {CommandRows.ACTION, CommandRows.ORDER, KeylessRows.FILE,
        KeylessRows.POSITION});
    String[] names = table.schema().fieldNames();
    for (int i = 0; i < names.length; i++) {
      String name = names[i].toLowerCase();
      if (own.contains(name) || name.startsWith(CommandRows.STORED)) {
        throw new UnsupportedOperationException(command + " of " + table.name() + ": its column '"
            + names[i] + "' has a name that is reserved; rename the column");
      }
    }
    this.table = table;
    this.command = command;
  }

  public RowLevelOperation build() {
    return this;
  }

  public RowLevelOperation.Command command() {
    return command;
  }

  public String description() {
    return "(Arctic) " + command + " of " + table.name();
  }

  public NamedReference[] rowId() {
    String[] key = table.key();
    if (key.length == 0) {
      key = new String[] {KeylessRows.FILE, KeylessRows.POSITION};
    }
    NamedReference[] columns = new NamedReference[key.length];
    for (int i = 0; i < key.length; i++) {
      columns[i] = Definitions.reference(key[i]);
    }
    return columns;
  }

  public NamedReference[] requiredMetadataAttributes() {
    return new NamedReference[0];
  }

  public boolean representUpdateAsDeleteAndInsert() {
    return false;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return table.newScanBuilder(options);
  }

  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    throw new IllegalStateException(description() + ": this session lacks Arctic's rule for it; "
        + "call arctic.register(spark) in the program that began the session");
  }
}
