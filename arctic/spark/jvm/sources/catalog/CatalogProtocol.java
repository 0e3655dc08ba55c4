package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.List;
import java.util.Map;

/** How Python answers a catalog: the other half of catalog_protocol.py. */
public final class CatalogProtocol {
  private CatalogProtocol() {}

  /** What Spark is told of a table. */
  public static final class TableAnswer {
    public final String name;
    /** By which a read or a write of it says which one it means. */
    public final Map options;
    /** As Spark writes a StructType. */
    public final Map schema;
    /** Transforms as lists: a name, a width where it takes one, a column. */
    public final List partitions;
    public final Map properties;
    /** The columns of the key, in key order. */
    public final List key;
    /** Columns of which the greatest values of a key win. */
    public final List ordering;
    /** Columns that say where a stored row is, of which a command has to tell what is stored. */
    public final List trusted;
    /** Why DELETE, UPDATE and MERGE are refused; null: they are not. */
    public final String refusedCommands;
    public final boolean isWritable;
    /** Whether a statement may change its columns beside its rows. */
    public final boolean evolves;
    /** Options, in lower case, that would make another table of it. */
    public final List refusedOptions;
    /** Of a table that is to be settled; null: it is not. */
    public final String staged;

    public TableAnswer(Map told) {
      name = (String) Protocol.needed(told, "name");
      options = (Map) Protocol.needed(told, "options");
      schema = (Map) Protocol.needed(told, "schema");
      partitions = (List) Protocol.needed(told, "partitions");
      properties = (Map) Protocol.needed(told, "properties");
      key = (List) Protocol.needed(told, "key");
      ordering = (List) Protocol.needed(told, "ordering");
      trusted = (List) Protocol.needed(told, "trusted");
      refusedCommands = (String) told.get("refused_commands");
      isWritable = ((Boolean) Protocol.needed(told, "is_writable")).booleanValue();
      evolves = ((Boolean) Protocol.needed(told, "evolves")).booleanValue();
      refusedOptions = (List) Protocol.needed(told, "refused_options");
      staged = (String) told.get("staged");
    }
  }

  /** What Spark is told of a procedure. */
  public static final class ProcedureAnswer {
    public final String name;
    public final String description;
    /** In their order, as Spark writes a StructType. */
    public final Map parameters;
    /** Of each, as SQL; null: it must be given. */
    public final List defaults;

    public ProcedureAnswer(Map told) {
      name = (String) Protocol.needed(told, "name");
      description = (String) Protocol.needed(told, "description");
      parameters = (Map) Protocol.needed(told, "parameters");
      defaults = (List) Protocol.needed(told, "defaults");
    }
  }

  /** Rows of a call, or partitions. */
  public static final class RowsAnswer {
    /** As Spark writes a StructType. */
    public final Map schema;
    /** Lists of values; a time is its microseconds. */
    public final List rows;
    /** Names of tables that have other rows after the call. */
    public final List changed;

    public RowsAnswer(Map told) {
      schema = (Map) Protocol.needed(told, "schema");
      rows = (List) Protocol.needed(told, "rows");
      changed = (List) Protocol.needed(told, "changed");
    }
  }

  /** Which rows the source of a MERGE can equal. */
  public static final class SoughtAnswer {
    public final boolean found;
    /** Of each column the ranges that hold its values, as lists of two; null: it may be any. */
    public final List columns;
    /** Whether a scan is to test the ranges. */
    public final boolean readsLess;
    /** A hint for a scan; null: there is none. */
    public final List nodes;

    public SoughtAnswer(Map told) {
      found = ((Boolean) Protocol.needed(told, "found")).booleanValue();
      columns = (List) Protocol.needed(told, "columns");
      readsLess = ((Boolean) Protocol.needed(told, "reads_less")).booleanValue();
      nodes = (List) told.get("nodes");
    }
  }

  /** Returns the names of tables, namespaces or procedures, each the list of its parts. */
  public static List names(Map told) {
    return (List) Protocol.needed(told, "names");
  }

  /** Returns the properties of a namespace. */
  public static Map properties(Map told) {
    return (Map) Protocol.needed(told, "properties");
  }

  /** Returns whether there was something to do it with. */
  public static boolean found(Map told) {
    return ((Boolean) Protocol.needed(told, "found")).booleanValue();
  }

  /** Returns what failed; null: nothing did. */
  public static String error(Map told) {
    return (String) told.get("error");
  }

  /** Returns what a failure is to Spark: one of the words that Answers knows. */
  public static String kind(Map told) {
    return (String) Protocol.needed(told, "kind");
  }
}
