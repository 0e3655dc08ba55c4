package arctic.spark.catalog;

import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.connector.write.RowLevelOperation;

/**
 * What a command may do to a table with ordering columns: write whole rows, each of them an event.
 *
 * Spark knows a stored row by its key alone, and a delete needs values of the ordering columns too.
 */
final class OrderedRows {
  private OrderedRows() {}

  /** Refuses what would be decided otherwise than it says. */
  static void check(RowLevelOperation.Command command, LogicalPlan query, CommandRows rows,
      ProjectingInternalRow row, CatalogTable table) {
    if (command == RowLevelOperation.Command.DELETE) {
      throw refused(command, table, "a DELETE takes comparisons of columns with values, and no "
          + "other condition; use Table.delete in Python");
    }
    if (command == RowLevelOperation.Command.UPDATE) {
      if (rows.mayMove()) {
        throw refused(command, table, "a key cannot change; delete the row, and write it anew");
      }
      for (int i = 0; i < table.ordering().length; i++) {
        if (!isStored(query, row, table.ordering()[i])) {
          throw refused(command, table, "an UPDATE cannot set '" + table.ordering()[i]
              + "', whose greatest value wins; use Table.update in Python, or MERGE");
        }
      }
      return;
    }
    if (!(query instanceof MergeRows)) {
      throw refused(command, table, "a MERGE of this form is not known here");
    }
    MergeRows merge = (MergeRows) query;
    if (MergePlan.deletes(merge)) {
      throw refused(command, table, "a MERGE cannot delete; use Table.merge in Python, or write "
          + "the deletes with their values");
    }
    if (MergePlan.moves(merge, KeyJoin.of(merge.child(), table), rows, row, table)) {
      throw refused(command, table, "a key cannot change; join on the whole key");
    }
  }

  /** Returns whether a column of updated rows is sure to be what is stored. */
  private static boolean isStored(LogicalPlan query, ProjectingInternalRow row, String column) {
    if (!(query instanceof Project)) {
      return false;
    }
    int place = CommandRows.ordinal(row, CommandRows.index(row, column));
    Object value = ((Project) query).projectList().apply(place);
    Expression plain = value instanceof Alias ? ((Alias) value).child() : (Expression) value;
    plain = KeyJoin.plain(plain);
    return plain instanceof Attribute && ((Attribute) plain).name().equals(column);
  }

  private static RuntimeException refused(RowLevelOperation.Command command, CatalogTable table,
      String why) {
    return new UnsupportedOperationException(command + " of " + table.name()
        + ": in a table with ordering columns (" + String.join(", ", table.ordering()) + ") "
        + why);
  }
}
