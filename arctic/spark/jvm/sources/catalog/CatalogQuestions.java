package arctic.spark.catalog;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a catalog asks Python: the other half of catalog_questions.py, whose words stand here alone.
 *
 * A golden file holds both halves to them. A catalog is its options, a name the list of its parts.
 */
public final class CatalogQuestions {
  private CatalogQuestions() {}

  public static Map tables(Map catalog, List name) {
    return about("tables", catalog, name);
  }

  /** The version and the microseconds since 1970 are null for the newest state. */
  public static Map table(Map catalog, List name, String version, Long microseconds) {
    Map question = about("table", catalog, name);
    question.put("version", version);
    question.put("microseconds", microseconds);
    return question;
  }

  /** A bound is a version, microseconds since 1970, or null where there is none. */
  public static Map changelog(Map catalog, List name, Object start, boolean startInclusive,
      Object end, boolean endInclusive, boolean isNet, boolean tellsUpdates) {
    Map question = about("changelog", catalog, name);
    question.put("start", start);
    question.put("start_inclusive", Boolean.valueOf(startInclusive));
    question.put("end", end);
    question.put("end_inclusive", Boolean.valueOf(endInclusive));
    question.put("is_net", Boolean.valueOf(isNet));
    question.put("tells_updates", Boolean.valueOf(tellsUpdates));
    return question;
  }

  /** Takes lists of transforms and of constraints; the stage is null for a table without rows. */
  public static Map createTable(Map catalog, List name, Map schema, List partitions,
      Map properties, List constraints, String stage) {
    Map question = about("create_table", catalog, name);
    question.put("schema", schema);
    question.put("partitions", partitions);
    question.put("properties", properties);
    question.put("constraints", constraints);
    question.put("stage", stage);
    return question;
  }

  /** Returns a constraint; of other kinds than primary keys the columns are none. */
  public static Map constraint(String text, List primaryKey) {
    Map words = new LinkedHashMap();
    words.put("text", text);
    words.put("primary_key", primaryKey);
    return words;
  }

  public static Map settle(String staged, boolean keeps) {
    Map question = question("settle");
    question.put("staged", staged);
    question.put("keeps", Boolean.valueOf(keeps));
    return question;
  }

  public static Map alterTable(Map catalog, List name, List changes, boolean ofPipeline) {
    Map question = about("alter_table", catalog, name);
    question.put("changes", changes);
    question.put("of_pipeline", Boolean.valueOf(ofPipeline));
    return question;
  }

  public static Map dropTable(Map catalog, List name, boolean purge) {
    Map question = about("drop_table", catalog, name);
    question.put("purge", Boolean.valueOf(purge));
    return question;
  }

  public static Map renameTable(Map catalog, List name, List newName) {
    Map question = about("rename_table", catalog, name);
    question.put("new_name", newName);
    return question;
  }

  public static Map namespaces(Map catalog, List name) {
    return about("namespaces", catalog, name);
  }

  public static Map namespace(Map catalog, List name) {
    return about("namespace", catalog, name);
  }

  public static Map createNamespace(Map catalog, List name, Map properties) {
    Map question = about("create_namespace", catalog, name);
    question.put("properties", properties);
    return question;
  }

  public static Map alterNamespace(Map catalog, List name, List changes) {
    Map question = about("alter_namespace", catalog, name);
    question.put("changes", changes);
    return question;
  }

  public static Map dropNamespace(Map catalog, List name, boolean cascade) {
    Map question = about("drop_namespace", catalog, name);
    question.put("cascade", Boolean.valueOf(cascade));
    return question;
  }

  /** The conditions of what is replaced are null where there are none. */
  public static Map save(Map options, boolean overwrites, List where, List pins,
      boolean isStatement, boolean isNew) {
    Map question = question("save");
    question.put("options", options);
    question.put("overwrites", Boolean.valueOf(overwrites));
    question.put("where", where);
    question.put("pins", pins);
    question.put("is_statement", Boolean.valueOf(isStatement));
    question.put("is_new", Boolean.valueOf(isNew));
    return question;
  }

  public static Map partitions(Map options) {
    Map question = question("partitions");
    question.put("options", options);
    return question;
  }

  public static Map delete(Map options, List where, boolean onlyAsks) {
    Map question = question("delete");
    question.put("options", options);
    question.put("where", where);
    question.put("only_asks", Boolean.valueOf(onlyAsks));
    return question;
  }

  /** Takes the options of the table, and what the command says. */
  public static Map rowLevel(Map options, Map command) {
    Map question = question("row_level");
    question.put("options", options);
    question.putAll(command);
    return question;
  }

  /** Returns what a command says; what is refused twice, what is read and what is set may be null. */
  public static Map command(String command, String rows, String once, boolean checksInserts,
      boolean isBlind, boolean tellsPlaces, String reads, List where, List pins, boolean isPlanned,
      Map sets) {
    Map words = new LinkedHashMap();
    words.put("command", command);
    words.put("rows", rows);
    words.put("once", once);
    words.put("checks_inserts", Boolean.valueOf(checksInserts));
    words.put("is_blind", Boolean.valueOf(isBlind));
    words.put("tells_places", Boolean.valueOf(tellsPlaces));
    words.put("reads", reads);
    words.put("where", where);
    words.put("pins", pins);
    words.put("is_planned", Boolean.valueOf(isPlanned));
    words.put("sets", sets);
    return words;
  }

  /** Takes names of columns, which may be null, and the size of the source, as null if unknown. */
  public static Map sought(Map options, List columns, Long sourceBytes) {
    Map question = question("sought");
    question.put("options", options);
    question.put("columns", columns);
    question.put("source_bytes", sourceBytes);
    return question;
  }

  public static Map procedures(Map catalog, List name) {
    return about("procedures", catalog, name);
  }

  public static Map procedure(Map catalog, List name) {
    return about("procedure", catalog, name);
  }

  public static Map call(Map catalog, List name, String catalogName, Map arguments) {
    Map question = about("call", catalog, name);
    question.put("catalog_name", catalogName);
    question.put("arguments", arguments);
    return question;
  }

  /** Returns a change of a table or a namespace that has a name, and perhaps a value. */
  public static Map propertyChange(String kind, String name, String value) {
    Map words = new LinkedHashMap();
    words.put("kind", kind);
    words.put("name", name);
    words.put("value", value);
    return words;
  }

  /** Returns a change of a column, which may have to say more than that. */
  public static Map columnChange(String kind, List column) {
    Map words = new LinkedHashMap();
    words.put("kind", kind);
    words.put("column", column);
    return words;
  }

  /** The comment, the position and the default may be null. */
  public static Map addColumn(List column, Map columnType, boolean nullable, String comment,
      String position, String defaultValue) {
    Map words = columnChange("add_column", column);
    words.put("column_type", columnType);
    words.put("nullable", Boolean.valueOf(nullable));
    words.put("comment", comment);
    words.put("position", position);
    words.put("default", defaultValue);
    return words;
  }

  public static Map renameColumn(List column, String newName) {
    Map words = columnChange("rename_column", column);
    words.put("new_name", newName);
    return words;
  }

  public static Map updateType(List column, Map columnType) {
    Map words = columnChange("update_type", column);
    words.put("column_type", columnType);
    return words;
  }

  public static Map updateNullability(List column, boolean nullable) {
    Map words = columnChange("update_nullability", column);
    words.put("nullable", Boolean.valueOf(nullable));
    return words;
  }

  public static Map updateComment(List column, String comment) {
    Map words = columnChange("update_comment", column);
    words.put("comment", comment);
    return words;
  }

  public static Map updatePosition(List column, String position) {
    Map words = columnChange("update_position", column);
    words.put("position", position);
    return words;
  }

  public static Map deleteColumn(List column, boolean ifExists) {
    Map words = columnChange("delete_column", column);
    words.put("if_exists", Boolean.valueOf(ifExists));
    return words;
  }

  /** Returns what a question is about; null: its options say it. */
  static List name(Map question) {
    return (List) question.get("name");
  }

  private static Map about(String ask, Map catalog, List name) {
    Map question = question(ask);
    question.put("catalog", catalog);
    question.put("name", name);
    return question;
  }

  private static Map question(String ask) {
    Map question = new LinkedHashMap();
    question.put("ask", ask);
    return question;
  }
}
