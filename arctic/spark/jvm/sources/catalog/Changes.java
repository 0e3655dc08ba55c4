package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Changes of tables and namespaces, in the protocol's words: a kind, and what it is about. */
final class Changes {
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

  static List told(TableChange[] changes) {
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
        all.add(property("set_property", set.property(), set.value()));
      } else if (changes[i] instanceof NamespaceChange.RemoveProperty) {
        all.add(property("remove_property",
            ((NamespaceChange.RemoveProperty) changes[i]).property(), null));
      } else {
        all.add(property(changes[i].getClass().getSimpleName(), null, null));
      }
    }
    return all;
  }

  private static Map told(TableChange change) {
    if (change instanceof TableChange.SetProperty) {
      TableChange.SetProperty set = (TableChange.SetProperty) change;
      return property("set_property", set.property(), set.value());
    }
    if (change instanceof TableChange.RemoveProperty) {
      return property("remove_property", ((TableChange.RemoveProperty) change).property(), null);
    }
    if (!(change instanceof TableChange.ColumnChange)) {
      return property(change.getClass().getSimpleName(), null, null);
    }
    Map words = new LinkedHashMap();
    words.put("kind", change.getClass().getSimpleName());
    words.put("column", Arrays.asList(((TableChange.ColumnChange) change).fieldNames()));
    if (change instanceof TableChange.AddColumn) {
      TableChange.AddColumn add = (TableChange.AddColumn) change;
      words.put("kind", "add_column");
      words.put("column_type", columnType(add.fieldNames(), add.dataType()));
      words.put("nullable", Boolean.valueOf(add.isNullable()));
      words.put("comment", add.comment());
      words.put("position", position(add.position()));
      // Without a default, old rows have nulls as well.
      boolean none = add.defaultValue() == null || add.defaultValue().getValue().value() == null;
      words.put("default", none ? null : add.defaultValue().toString());
    } else if (change instanceof TableChange.RenameColumn) {
      words.put("kind", "rename_column");
      words.put("new_name", ((TableChange.RenameColumn) change).newName());
    } else if (change instanceof TableChange.UpdateColumnType) {
      words.put("kind", "update_type");
      TableChange.UpdateColumnType update = (TableChange.UpdateColumnType) change;
      words.put("column_type", columnType(update.fieldNames(), update.newDataType()));
    } else if (change instanceof TableChange.UpdateColumnNullability) {
      words.put("kind", "update_nullability");
      words.put("nullable",
          Boolean.valueOf(((TableChange.UpdateColumnNullability) change).nullable()));
    } else if (change instanceof TableChange.UpdateColumnComment) {
      words.put("kind", "update_comment");
      words.put("comment", ((TableChange.UpdateColumnComment) change).newComment());
    } else if (change instanceof TableChange.UpdateColumnPosition) {
      words.put("kind", "update_position");
      words.put("position", position(((TableChange.UpdateColumnPosition) change).position()));
    } else if (change instanceof TableChange.DeleteColumn) {
      words.put("kind", "delete_column");
      words.put("if_exists", ((TableChange.DeleteColumn) change).ifExists());
    }
    return words;
  }

  private static Map property(String kind, String name, String value) {
    Map words = new LinkedHashMap();
    words.put("kind", kind);
    words.put("name", name);
    words.put("value", value);
    return words;
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
