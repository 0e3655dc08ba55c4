package arctic.spark.catalog;

import arctic.spark.ArcticTable;
import arctic.spark.Callback;
import arctic.spark.Pins;
import arctic.spark.Protocol;
import arctic.spark.TakesFilters;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsDeleteV2;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsPartitionManagement;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsRowLevelOperations;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.RowLevelOperationBuilder;
import org.apache.spark.sql.connector.write.RowLevelOperationInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table of a catalog: what Python told of it, read by scans of its own, written in one commit. */
public class CatalogTable implements SupportsRead, SupportsWrite, SupportsRowLevelOperations,
    SupportsMetadataColumns, SupportsDeleteV2, SupportsPartitionManagement, TakesFilters {
  private static final String[] OF_THE_PLACE =
      new String[] {"provider", "location", "is_managed_location"};
  private final CatalogProtocol.TableAnswer told;
  private final String name;
  private final StructType schema;
  private final ArcticTable scans;
  /** As SHOW PARTITIONS lists them; null: nobody has asked. */
  private ShownPartitions partitions;
  /** States in which the write of a query has read the table before it begins. */
  private final List seen;

  /** Takes the catalog's name and the answer of Python. */
  public CatalogTable(String catalog, CatalogProtocol.TableAnswer told) {
    this.told = told;
    this.name = catalog + "." + told.name;
    this.schema = (StructType) DataType.fromJson(Protocol.json(told.schema));
    this.scans = ArcticTable.of(schema, Pins.SHARED, Callback.AT_USE);
    this.seen = new ArrayList();
  }

  /** Takes another object of the same table. */
  CatalogTable(CatalogTable same) {
    this(same, same.seen, same.scans);
  }

  /** Takes what its scans are of. */
  CatalogTable(CatalogTable same, ArcticTable scans) {
    this(same, same.seen, scans);
  }

  private CatalogTable(CatalogTable same, List seen, ArcticTable scans) {
    this.told = same.told;
    this.name = same.name;
    this.schema = same.schema;
    this.scans = scans;
    this.seen = seen;
  }

  /** Returns the table as the target of a query that has planned scans already. */
  final CatalogTable seenByThisQuery() {
    return new CatalogTable(this, Pins.newest(Pins.SHARED.ofThisQuery(),
        with(new CaseInsensitiveStringMap(new HashMap()))), scans);
  }

  final List seen() {
    return seen;
  }

  final boolean isWritable() {
    return told.isWritable;
  }

  /** The columns of the key, in key order; empty where there is none. */
  public final String[] key() {
    return (String[]) told.key.toArray(new String[0]);
  }

  /** Returns null where DELETE, UPDATE and MERGE are not refused. */
  final String refusedCommands() {
    return told.refusedCommands;
  }

  /** Columns of which the greatest values of a key win; empty where the later commit does. */
  public final String[] ordering() {
    return (String[]) told.ordering.toArray(new String[0]);
  }

  /** Columns beside the key that say where a stored row is, where its writer does not look. */
  final String[] trusted() {
    return (String[]) told.trusted.toArray(new String[0]);
  }

  /** What says to Python which table this is, joined with the options of a read or a write. */
  public final CaseInsensitiveStringMap with(CaseInsensitiveStringMap given) {
    Map joined = new HashMap(given.asCaseSensitiveMap());
    for (Iterator each = joined.keySet().iterator(); each.hasNext();) {
      String option = (String) each.next();
      if (told.refusedOptions.contains(option.toLowerCase()) || option.toLowerCase().startsWith("catalog.")) {
        throw new IllegalArgumentException("option " + option + " of a read or write of " + name
            + ": a table of a catalog is where it is, and read as it is; use format(\"arctic\")");
      }
    }
    for (Iterator each = told.options.entrySet().iterator(); each.hasNext();) {
      Map.Entry entry = (Map.Entry) each.next();
      String other = given.get(entry.getKey());
      if (other != null && !other.equals(entry.getValue())) {
        throw new IllegalArgumentException("option " + entry.getKey() + " = '" + other
            + "' for " + name + ": its name, VERSION AS OF and its catalog say that already");
      }
      joined.remove(entry.getKey());
      joined.put(entry.getKey(), entry.getValue());
    }
    return new CaseInsensitiveStringMap(joined);
  }

  public String name() {
    return name;
  }

  public String toString() {
    return name;
  }

  public StructType schema() {
    return schema;
  }

  public Transform[] partitioning() {
    return Definitions.transforms(told.partitions);
  }

  /** Where a row is stored, if nothing else tells it apart. */
  public MetadataColumn[] metadataColumns() {
    return isWritable() && key().length == 0 ? KeylessRows.columns() : new MetadataColumn[0];
  }

  public Map properties() {
    return told.properties;
  }

  /** The key, as SHOW CREATE TABLE writes it again. */
  public Constraint[] constraints() {
    return Definitions.constraints(key());
  }

  /** The properties that a table has which is made like this one. */
  final Map definition() {
    Map all = new LinkedHashMap(properties());
    for (int i = 0; i < OF_THE_PLACE.length; i++) {
      all.remove(OF_THE_PLACE[i]);
    }
    return all;
  }

  public StructType partitionSchema() {
    return partitions().names();
  }

  public InternalRow[] listPartitionIdentifiers(String[] names, InternalRow values) {
    return partitions().matching(names, values);
  }

  public void createPartition(InternalRow partition, Map properties) {
    ShownPartitions.refuse(name);
  }

  public boolean dropPartition(InternalRow partition) {
    return ShownPartitions.refuse(name);
  }

  public void replacePartitionMetadata(InternalRow partition, Map properties) {
    ShownPartitions.refuse(name);
  }

  public Map loadPartitionMetadata(InternalRow partition) {
    return new HashMap();
  }

  private ShownPartitions partitions() {
    if (partitions == null) {
      partitions = new ShownPartitions(told.options);
    }
    return partitions;
  }

  public Set capabilities() {
    Set all = new HashSet();
    all.add(TableCapability.BATCH_READ);
    if (isWritable()) {
      all.add(TableCapability.V1_BATCH_WRITE);
      // What Spark asks of a dynamic overwrite, which DynamicOverwrite makes one of the others.
      all.add(TableCapability.BATCH_WRITE);
      all.add(TableCapability.TRUNCATE);
      all.add(TableCapability.OVERWRITE_BY_FILTER);
      all.add(TableCapability.OVERWRITE_DYNAMIC);
      if (told.evolves) {
        all.add(TableCapability.AUTOMATIC_SCHEMA_EVOLUTION);
      }
    }
    return all;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return scans.newScanBuilder(with(options));
  }

  /** Returns the same for a scan that has another hint than the filters of its query. */
  final ScanBuilder newScanBuilder(CaseInsensitiveStringMap options, List hint) {
    return scans.newScanBuilder(with(options), hint);
  }

  /** Unequal to it, for a plan keeps what it has where it is given something equal. */
  public Table takingFilters() {
    return new TableItself(this, (ArcticTable) scans.takingFilters());
  }

  public boolean truncateTable() {
    deleteWhere(new Predicate[0]);
    return true;
  }

  /** Whether metadata alone says which rows go; Python looks again when they do. */
  public boolean canDeleteWhere(Predicate[] predicates) {
    return isWritable() && WholeDelete.asked(told.options, predicates, true);
  }

  public void deleteWhere(Predicate[] predicates) {
    if (!WholeDelete.asked(told.options, predicates, false)) {
      throw new IllegalStateException("DELETE of " + name + ": its condition is not known here, "
          + "and no row was deleted; expected comparisons of columns with values");
    }
  }

  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new FrameWrite(name, with(info.options()), seen, true, isNew());
  }

  public RowLevelOperationBuilder newRowLevelOperationBuilder(RowLevelOperationInfo info) {
    return new RowLevelCommand(this, info.command());
  }

  /** What Spark caches of a table is found by it, and made anew after a write. */
  public boolean equals(Object other) {
    return other instanceof CatalogTable && ((CatalogTable) other).isCached()
        && ((CatalogTable) other).name.equals(name)
        && ((CatalogTable) other).schema.equals(schema)
        && ((CatalogTable) other).told.options.equals(told.options);
  }

  /** Whether it was made for the rows that a statement brings. */
  boolean isNew() {
    return false;
  }

  /** Whether it is one of those that Spark may take for one another. */
  boolean isCached() {
    return true;
  }

  public int hashCode() {
    return name.hashCode();
  }
}
