package arctic.spark.catalog;

import java.util.ArrayList;
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

  /**
   * Returns what Python must know of it. Subqueries have read the table in some states, or are to
   * look at it: then the rows are not blind; and where they have, they may have looked at any row.
   */
  Map told(String command, List seen, boolean areToLook, boolean isPlanned) {
    boolean haveLooked = !seen.isEmpty();
    return CatalogQuestions.command(command, kind, once, checksInserts,
        isBlind && !haveLooked && !areToLook, haveLooked ? null : reads,
        where == null ? new ArrayList() : where, seen, isPlanned);
  }
}
