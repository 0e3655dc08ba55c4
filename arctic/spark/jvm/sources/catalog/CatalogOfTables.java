package arctic.spark.catalog;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
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
import org.apache.spark.sql.internal.SQLConf;
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
    return identifiers(CatalogQuestions.tables(options, Arrays.asList(namespace)));
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
    return told(Answers.to(definition(table, wanted, wanted.properties(), null)));
  }

  /** Of CREATE TABLE ... LIKE, which Spark 4.3 brings: what is said wins over the source's. */
  public Table createTableLike(Identifier table, TableInfo wanted, Table source) {
    Map properties = new LinkedHashMap();
    if (source instanceof CatalogTable) {
      properties.putAll(((CatalogTable) source).definition());
    }
    properties.putAll(wanted.properties());
    return told(Answers.to(definition(table, wanted, properties, null)));
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
    return told(Answers.to(CatalogQuestions.alterTable(
        options, parts(table), Changes.told(changes), Changes.areOfPipeline())));
  }

  public boolean dropTable(Identifier table) {
    return dropped(table, false);
  }

  public boolean purgeTable(Identifier table) {
    return dropped(table, true);
  }

  public void renameTable(Identifier table, Identifier other) {
    // Spark leaves the name of the catalog before a new name that has one.
    boolean named = other.namespace().length > 1 && other.namespace()[0].equals(name);
    List parts = parts(other);
    Answers.to(CatalogQuestions.renameTable(
        options, parts(table), named ? parts.subList(1, parts.size()) : parts));
  }

  public String[][] listNamespaces() {
    return listNamespaces(new String[0]);
  }

  public String[][] listNamespaces(String[] namespace) {
    List names = CatalogProtocol.names(
        Answers.to(CatalogQuestions.namespaces(options, Arrays.asList(namespace))));
    String[][] found = new String[names.size()][];
    for (int i = 0; i < found.length; i++) {
      found[i] = (String[]) ((List) names.get(i)).toArray(new String[0]);
    }
    return found;
  }

  public Map loadNamespaceMetadata(String[] namespace) {
    return CatalogProtocol.properties(
        Answers.to(CatalogQuestions.namespace(options, Arrays.asList(namespace))));
  }

  public void createNamespace(String[] namespace, Map properties) {
    Answers.to(CatalogQuestions.createNamespace(options, Arrays.asList(namespace), properties));
  }

  public void alterNamespace(String[] namespace, NamespaceChange[] changes) {
    Answers.to(CatalogQuestions.alterNamespace(
        options, Arrays.asList(namespace), Changes.told(changes)));
  }

  public boolean dropNamespace(String[] namespace, boolean cascade) {
    return CatalogProtocol.found(Answers.to(
        CatalogQuestions.dropNamespace(options, Arrays.asList(namespace), cascade)));
  }

  public UnboundProcedure loadProcedure(Identifier procedure) {
    return new CatalogProcedure(name, options,
        Answers.to(CatalogQuestions.procedure(options, parts(procedure))));
  }

  public Identifier[] listProcedures(String[] namespace) {
    return identifiers(CatalogQuestions.procedures(options, Arrays.asList(namespace)));
  }

  /** Returns namespace and name as one. */
  protected static List parts(Identifier table) {
    List parts = new ArrayList(Arrays.asList(table.namespace()));
    parts.add(table.name());
    return parts;
  }

  protected final Map options() {
    return options;
  }

  private static Identifier[] identifiers(Map question) {
    List names = CatalogProtocol.names(Answers.to(question));
    Identifier[] found = new Identifier[names.size()];
    for (int i = 0; i < found.length; i++) {
      String[] parts = (String[]) ((List) names.get(i)).toArray(new String[0]);
      found[i] = Identifier.of(
          (String[]) Arrays.copyOf(parts, parts.length - 1), parts[parts.length - 1]);
    }
    return found;
  }

  private Table loaded(Identifier table, String version, Long microseconds) {
    return told(Answers.to(
        CatalogQuestions.table(ofSession(), parts(table), version, microseconds)));
  }

  /** Returns the options, with the branch that this session works on, if it names one. */
  private Map ofSession() {
    String branch = SQLConf.get().getConfString("spark.wap.branch", "");
    if (branch.isEmpty()) {
      return options;
    }
    Map all = new LinkedHashMap(options);
    all.put("wap-branch", branch);
    return all;
  }

  private Table told(Map answer) {
    return new CatalogTable(name, new CatalogProtocol.TableAnswer(answer));
  }

  private StagedTable staged(String stage, Identifier table, TableInfo wanted) {
    Map answer = Answers.to(definition(table, wanted, wanted.properties(), stage));
    return new StagedCatalogTable(name, new CatalogProtocol.TableAnswer(answer));
  }

  private Map definition(Identifier table, TableInfo wanted, Map properties, String stage) {
    return CatalogQuestions.createTable(options, parts(table), Definitions.schema(wanted),
        Definitions.partitions(wanted), properties, Definitions.constraints(wanted), stage);
  }

  private boolean dropped(Identifier table, boolean purge) {
    return CatalogProtocol.found(
        Answers.to(CatalogQuestions.dropTable(options, parts(table), purge)));
  }
}
