package arctic.spark.catalog;

import arctic.spark.Protocol;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.ProcedureCatalog;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.StagingTableCatalog;
import org.apache.spark.sql.connector.catalog.SupportsNamespaces;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalogCapability;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Tables, namespaces and procedures as Spark asks for them; Python knows the answers. */
public class CatalogOfTables implements StagingTableCatalog, SupportsNamespaces, ProcedureCatalog {
  private String name;
  /** As configured: spark.sql.catalog.<name>.<option>. */
  private Map options;

  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.options = options.asCaseSensitiveMap();
  }

  public String name() {
    return name;
  }

  public String toString() {
    return name;
  }

  public Set capabilities() {
    Set all = new HashSet();
    all.add(TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT);
    return all;
  }

  public Identifier[] listTables(String[] namespace) {
    return listed("tables", namespace);
  }

  public Table loadTable(Identifier table) {
    return loaded(table, null, null);
  }

  public Table loadTable(Identifier table, String version) {
    return loaded(table, version, null);
  }

  public Table loadTable(Identifier table, long microseconds) {
    return loaded(table, null, Long.valueOf(microseconds));
  }

  public boolean tableExists(Identifier table) {
    try {
      return table.namespace().length > 0 && loaded(table, null, null) != null;
    } catch (Exception error) {
      if (error instanceof NoSuchTableException) {
        return false;
      }
      org.apache.spark.unsafe.Platform.throwException(error);
      return false;
    }
  }

  public Table createTable(Identifier table, TableInfo wanted) {
    Map question = Definitions.with(about("create_table", Questions.parts(table)), wanted);
    question.put("stage", null);
    return told(Questions.answer(question));
  }

  /** Of CREATE TABLE ... LIKE, which Spark 4.3 brings: what is said wins over the source's. */
  public Table createTableLike(Identifier table, TableInfo wanted, Table source) {
    Map question = Definitions.with(about("create_table", Questions.parts(table)), wanted);
    question.put("stage", null);
    if (source instanceof CatalogTable) {
      Map properties = ((CatalogTable) source).definition();
      properties.putAll(wanted.properties());
      question.put("properties", properties);
    }
    return told(Questions.answer(question));
  }

  public StagedTable stageCreate(Identifier table, TableInfo wanted) {
    return staged("create", table, wanted);
  }

  public StagedTable stageReplace(Identifier table, TableInfo wanted) {
    return staged("replace", table, wanted);
  }

  public StagedTable stageCreateOrReplace(Identifier table, TableInfo wanted) {
    return staged("create_or_replace", table, wanted);
  }

  public Table alterTable(Identifier table, TableChange[] changes) {
    Map question = about("alter_table", Questions.parts(table));
    question.put("changes", Changes.told(changes));
    question.put("of_pipeline", Boolean.valueOf(Changes.areOfPipeline()));
    return told(Questions.answer(question));
  }

  public boolean dropTable(Identifier table) {
    return dropped(table, false);
  }

  public boolean purgeTable(Identifier table) {
    return dropped(table, true);
  }

  public void renameTable(Identifier table, Identifier other) {
    Map question = about("rename_table", Questions.parts(table));
    // Spark leaves the name of the catalog before a new name that has one.
    boolean named = other.namespace().length > 1 && other.namespace()[0].equals(name);
    List parts = Arrays.asList(Questions.parts(other));
    question.put("new_name", named ? parts.subList(1, parts.size()) : parts);
    Questions.answer(question);
  }

  public String[][] listNamespaces() {
    return listNamespaces(new String[0]);
  }

  public String[][] listNamespaces(String[] namespace) {
    List names = (List) Questions.answer(about("namespaces", namespace)).get("names");
    String[][] found = new String[names.size()][];
    for (int i = 0; i < found.length; i++) {
      found[i] = (String[]) ((List) names.get(i)).toArray(new String[0]);
    }
    return found;
  }

  public Map loadNamespaceMetadata(String[] namespace) {
    return (Map) Questions.answer(about("namespace", namespace)).get("properties");
  }

  public void createNamespace(String[] namespace, Map properties) {
    Map question = about("create_namespace", namespace);
    question.put("properties", properties);
    Questions.answer(question);
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) {
    Map question = about("alter_namespace", namespace);
    question.put("changes", Changes.told(changes));
    Questions.answer(question);
  }

  public boolean dropNamespace(String[] namespace, boolean cascade) {
    Map question = about("drop_namespace", namespace);
    question.put("cascade", Boolean.valueOf(cascade));
    return ((Boolean) Questions.answer(question).get("found")).booleanValue();
  }

  public UnboundProcedure loadProcedure(Identifier procedure) {
    Map question = about("procedure", Questions.parts(procedure));
    return new CatalogProcedure(name, options, Questions.answer(question));
  }

  public Identifier[] listProcedures(String[] namespace) {
    return listed("procedures", namespace);
  }

  private Identifier[] listed(String ask, String[] namespace) {
    List names = (List) Questions.answer(about(ask, namespace)).get("names");
    Identifier[] found = new Identifier[names.size()];
    for (int i = 0; i < found.length; i++) {
      String[] parts = (String[]) ((List) names.get(i)).toArray(new String[0]);
      found[i] = Identifier.of(
          (String[]) Arrays.copyOf(parts, parts.length - 1), parts[parts.length - 1]);
    }
    return found;
  }

  protected final Map about(String ask, String[] parts) {
    return Questions.about(ask, options, parts);
  }

  private Table loaded(Identifier table, String version, Long microseconds) {
    Map question = about("table", Questions.parts(table));
    question.put("version", version);
    question.put("microseconds", microseconds);
    return told(Questions.answer(question));
  }

  private Table told(Map answer) {
    return new CatalogTable(name, answer);
  }

  private StagedTable staged(String stage, Identifier table, TableInfo wanted) {
    Map question = Definitions.with(about("create_table", Questions.parts(table)), wanted);
    question.put("stage", stage);
    return new StagedCatalogTable(name, Questions.answer(question));
  }

  private boolean dropped(Identifier table, boolean purge) {
    Map question = about("drop_table", Questions.parts(table));
    question.put("purge", Boolean.valueOf(purge));
    return ((Boolean) Questions.answer(question).get("found")).booleanValue();
  }
}
