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
  static final String SOURCE = "source";

  final LogicalPlan rows;
  private final String kind;
  private String once;
  private boolean checksInserts;
  private boolean isBlind;
  private boolean tellsPlaces;
  private String reads;
  private List where;
  /** What columns get in the rows of these conditions; null: more is to be known of a row. */
  private Map sets;
  /** Null: it may look at any stored row, or at none. */
  private SoughtRows sought;
  /** Null: it does something else, or nobody knows what. */
  private SmallMerge small;
  private String command;
  /** States in which subqueries have read the table. */
  private List seen;
  /** Whether subqueries are to look at it. */
  private boolean areToLook;
  /** Whether some scan is planned already. */
  private boolean isPlanned;

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

  /** Says that each row tells in which partition the stored one of its key is. */
  CommandPlan placed() {
    tellsPlaces = true;
    return this;
  }

  /** Says that of the table it looks at rows alone that fulfil all of these; null: at any. */
  CommandPlan readsWhere(List conditions) {
    reads = conditions == null ? null : "where";
    where = conditions;
    return this;
  }

  /**
   * Says that all it does is to give columns these values in rows that fulfil the conditions it
   * reads by, and exactly in them, or to delete them; null: that cannot be said.
   */
  CommandPlan sets(Map values) {
    sets = values;
    return this;
  }

  /** Says that of the table it looks at those rows alone whose keys it writes. */
  CommandPlan readsWritten() {
    reads = "written";
    return this;
  }

  /** Says that of the table it looks at these rows alone; null: at any. */
  CommandPlan seeks(SoughtRows these) {
    sought = these;
    return this;
  }

  /** Says that it is this MERGE; null: it is not one of these. */
  CommandPlan small(SmallMerge merge) {
    small = merge;
    return this;
  }

  /** Says what is known of its statement, see CatalogQuestions. */
  CommandPlan of(String statement, List states, boolean looks, boolean planned) {
    command = statement;
    seen = states;
    areToLook = looks;
    isPlanned = planned;
    return this;
  }

  SoughtRows sought() {
    return sought;
  }

  /** Returns null where tasks of Spark are to do it. */
  SmallMerge small() {
    return seen.isEmpty() && !areToLook ? small : null;
  }

  /** Returns what Python must know of it to do it with the rows of its source alone. */
  Map toldOfSource() {
    return CatalogQuestions.command(command, SOURCE, once, false, false, tellsPlaces, null,
        new ArrayList(), seen, isPlanned, small.sets);
  }

  /**
   * Returns what Python must know of it, if of the table these rows are sought. Subqueries have read
   * the table in some states, or are to look at it: then the rows are not blind; and where they
   * have, they may have looked at any row.
   */
  Map told(SoughtRows these) {
    boolean haveLooked = !seen.isEmpty();
    List keys = these == null || reads != null || haveLooked ? null : these.keys();
    List told = keys == null ? where : keys;
    return CatalogQuestions.command(command, kind, once, checksInserts,
        isBlind && !haveLooked && !areToLook, tellsPlaces,
        keys != null ? "keys" : haveLooked ? null : reads,
        told == null ? new ArrayList() : told, seen, isPlanned,
        haveLooked || areToLook || where == null ? null : sets);
  }
}
