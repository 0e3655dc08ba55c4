package arctic.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.StructType;

/** Spark's Python scan, which equals another of the same table that asks for the same. */
public final class OwnScan implements Scan, Batch, SupportsReportStatistics {
  private static final int SCAN_FIELD = 1;

  /** What Spark can read itself; null: nothing. */
  public final ParquetFiles files;
  /** Whether it does. */
  public final boolean leavesFiles;
  /** In which it is planned; null: in any. */
  public final KeyGroupsAsked groups;
  /** KeyGroupsAsked in which it could be. */
  public final List groupings;
  private final Scan scan;
  private final Batch batch;
  private final Object table;
  private final ArcticTable.Wanted wanted;
  private final String asked;
  private final String hints;
  private final Estimate estimate;

  public OwnScan(Scan scan, ArcticTable.Wanted wanted, String asked, String hints,
      Estimate estimate, ParquetFiles files, boolean leavesFiles, KeyGroupsAsked groups,
      List groupings) {
    this.scan = scan;
    this.estimate = estimate;
    this.files = files;
    this.leavesFiles = leavesFiles;
    this.batch = scan.toBatch();
    this.wanted = wanted;
    this.table = wanted.table();
    this.groups = groups;
    this.groupings = groupings;
    this.asked = asked;
    this.hints = hints;
  }

  public StructType readSchema() {
    return scan.readSchema();
  }

  public Batch toBatch() {
    return this;
  }

  public InputPartition[] planInputPartitions() {
    InputPartition[] all = batch.planInputPartitions();
    return leavesFiles ? (InputPartition[]) java.util.Arrays.copyOf(all, files.merged) : all;
  }

  /** Returns the relation of this scan with a scan that does not read these files. */
  public LogicalPlan leavingFiles(DataSourceV2ScanRelation relation) {
    return Trees.with(relation, SCAN_FIELD,
        new OwnScan(scan, wanted, asked, hints, estimate, files, true, groups, groupings));
  }

  /** Returns the relation of the same rows, planned anew in groups; null: it cannot be. */
  public DataSourceV2ScanRelation grouped(DataSourceV2ScanRelation relation,
      KeyGroupsAsked these) {
    OwnScan other = wanted.planned(these);
    return other.groups == null || !other.asked.equals(asked)
        || (other.files == null) != (files == null) ? null
        : (DataSourceV2ScanRelation) Trees.with(relation, SCAN_FIELD, other);
  }

  public PartitionReaderFactory createReaderFactory() {
    return batch.createReaderFactory();
  }

  public Statistics estimateStatistics() {
    return estimate;
  }

  public CustomMetric[] supportedCustomMetrics() {
    return scan.supportedCustomMetrics();
  }

  public String description() {
    return "(Arctic) hints: " + hints;
  }

  public boolean equals(Object other) {
    return other instanceof OwnScan && ((OwnScan) other).table == table
        && ((OwnScan) other).leavesFiles == leavesFiles
        && java.util.Objects.equals(((OwnScan) other).groups, groups)
        && ((OwnScan) other).asked.equals(asked);
  }

  public int hashCode() {
    return asked.hashCode();
  }
}
