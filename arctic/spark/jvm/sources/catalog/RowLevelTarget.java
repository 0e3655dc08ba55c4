package arctic.spark.catalog;

import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;

/** A table that takes the rows of one command, whose columns are not the table's alone. */
final class RowLevelTarget extends CatalogTable {
  private final CommandPlan plan;

  RowLevelTarget(CatalogTable table, CommandPlan plan) {
    super(table);
    this.plan = plan;
  }

  public Set capabilities() {
    Set all = new HashSet(super.capabilities());
    all.add(TableCapability.ACCEPT_ANY_SCHEMA);
    return all;
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new RowLevelWrite(this, with(info.options()), plan);
  }
}
