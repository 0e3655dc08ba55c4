package arctic.spark.catalog;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/** The rows of a command, and what Python must know of them. */
final class CommandPlan {
  static final String DELETE = "delete";
  static final String UPSERT = "upsert";
  static final String ACTIONS = "actions";
  static final String APPEND = "append";
  static final String PLACES = "places";

  final LogicalPlan rows;
  private final String kind;
  private String once;
  private boolean checksInserts;
  private boolean isBlind;
  private String reads;
  private List where;

  /**
   * Takes keys to delete, whole rows of keys, or rows that say what they do; without a key whole
   * rows to append, or rows that say what they do, and where the stored ones are.
   */
  CommandPlan(LogicalPlan rows, String kind) {
    this.rows = rows;
    this.kind = kind;
  }

  /** Has a key refused that several rows of the source name, or several rows of the target get. */
  CommandPlan once(String what) {
    once = what;
    return this;
  }

  /** Has a key refused that is inserted and stored already. */
  CommandPlan checked() {
    checksInserts = true;
    return this;
  }

  /** Says that the rows were made without a look at the table. */
  CommandPlan blind() {
    isBlind = true;
    return this;
  }

  /** Says that of the table it looks at rows alone that fulfil all of these; null: at any. */
  CommandPlan readsWhere(List conditions) {
    reads = conditions == null ? null : "where";
    where = conditions;
    return this;
  }

  /** Says that of the table it looks at those rows alone whose keys it writes. */
  CommandPlan readsWritten() {
    reads = "written";
    return this;
  }

  /** Says that of the table it looks at rows alone whose keys fulfil these; null: at any. */
  CommandPlan readsKeys(List conditions) {
    reads = conditions == null ? null : "keys";
    where = conditions;
    return this;
  }

  Map told() {
    Map words = new LinkedHashMap();
    words.put("rows", kind);
    words.put("once", once);
    words.put("checks_inserts", Boolean.valueOf(checksInserts));
    words.put("is_blind", Boolean.valueOf(isBlind));
    words.put("reads", reads);
    words.put("where", where == null ? new ArrayList() : where);
    return words;
  }
}
