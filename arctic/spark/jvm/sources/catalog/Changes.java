package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Changes of tables and namespaces, in the protocol's words. */
public final class Changes {
  /** The package of Spark's pipelines. */
  private static final String PIPELINES = "org.apache.spark.sql.pipelines.";

  private Changes() {}

  /**
   * Whether a pipeline asks, which fits the columns of its tables to those of its flows.
   *
   * It asks for the same as ALTER TABLE; only who calls tells them apart.
   */
  static boolean areOfPipeline() {
    StackTraceElement[] calls = new Throwable().getStackTrace();
    for (int i = 0; i < calls.length; i++) {
      if (calls[i].getClassName().startsWith(PIPELINES)) {
        return true;
      }
    }
    return false;
  }

  public static List told(TableChange[] changes) {
    List all = new ArrayList();
    for (int i = 0; i < changes.length; i++) {
      all.add(told(changes[i]));
    }
    return all;
  }

  static List told(NamespaceChange[] changes) {
    List all = new ArrayList();
    for (int i = 0; i < changes.length; i++) {
      if (changes[i] instanceof NamespaceChange.SetProperty) {
        NamespaceChange.SetProperty set = (NamespaceChange.SetProperty) changes[i];
        all.add(CatalogQuestions.propertyChange("set_property", set.property(), set.value()));
      } else if (changes[i] instanceof NamespaceChange.RemoveProperty) {
        all.add(CatalogQuestions.propertyChange("remove_property",
            ((NamespaceChange.RemoveProperty) changes[i]).property(), null));
      } else {
        all.add(CatalogQuestions.propertyChange(changes[i].getClass().getSimpleName(), null, null));
      }
    }
    return all;
  }

  private static Map told(TableChange change) {
    if (change instanceof TableChange.SetProperty) {
      TableChange.SetProperty set = (TableChange.SetProperty) change;
      return CatalogQuestions.propertyChange("set_property", set.property(), set.value());
    }
    if (change instanceof TableChange.RemoveProperty) {
      return CatalogQuestions.propertyChange("remove_property", ((TableChange.RemoveProperty) change).property(), null);
    }
    if (change instanceof TableChange.ClusterBy) {
      List columns = new ArrayList();
      NamedReference[] named = ((TableChange.ClusterBy) change).clusteringColumns();
      for (int i = 0; i < named.length; i++) {
        columns.add(String.join(".", named[i].fieldNames()));
      }
      return CatalogQuestions.columnChange("cluster_by", columns);
    }
    if (!(change instanceof TableChange.ColumnChange)) {
      return CatalogQuestions.propertyChange(change.getClass().getSimpleName(), null, null);
    }
    List column = Arrays.asList(((TableChange.ColumnChange) change).fieldNames());
    if (change instanceof TableChange.AddColumn) {
      TableChange.AddColumn add = (TableChange.AddColumn) change;
      // Without a default, old rows have nulls as well.
      boolean none = add.defaultValue() == null || add.defaultValue().getValue().value() == null;
      return CatalogQuestions.addColumn(column, columnType(add.fieldNames(), add.dataType()),
          add.isNullable(), add.comment(), position(add.position()),
          none ? null : add.defaultValue().toString());
    }
    if (change instanceof TableChange.RenameColumn) {
      return CatalogQuestions.renameColumn(column, ((TableChange.RenameColumn) change).newName());
    }
    if (change instanceof TableChange.UpdateColumnType) {
      TableChange.UpdateColumnType update = (TableChange.UpdateColumnType) change;
      return CatalogQuestions.updateType(
          column, columnType(update.fieldNames(), update.newDataType()));
    }
    if (change instanceof TableChange.UpdateColumnNullability) {
      return CatalogQuestions.updateNullability(
          column, ((TableChange.UpdateColumnNullability) change).nullable());
    }
    if (change instanceof TableChange.UpdateColumnComment) {
      return CatalogQuestions.updateComment(
          column, ((TableChange.UpdateColumnComment) change).newComment());
    }
    if (change instanceof TableChange.UpdateColumnPosition) {
      return CatalogQuestions.updatePosition(
          column, position(((TableChange.UpdateColumnPosition) change).position()));
    }
    if (change instanceof TableChange.DeleteColumn) {
      return CatalogQuestions.deleteColumn(
          column, ((TableChange.DeleteColumn) change).ifExists().booleanValue());
    }
    return CatalogQuestions.columnChange(change.getClass().getSimpleName(), column);
  }

  /** Returns a row of one column: Spark writes a collation beside a type, not into it. */
  private static Map columnType(String[] column, DataType type) {
    StructField field = new StructField(column[column.length - 1], type, true, Metadata.empty());
    return Protocol.fields(new StructType(new StructField[] {field}).json());
  }

  private static String position(TableChange.ColumnPosition position) {
    return position == null ? null : position.toString();
  }
}
