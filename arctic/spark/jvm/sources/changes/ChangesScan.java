package arctic.spark.catalog;

import arctic.spark.ArcticTable;
import arctic.spark.Callback;
import arctic.spark.Pins;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A scan of changes, which learns last whether it is one batch or a stream of them. */
final class ChangesScan implements ScanBuilder, SupportsPushDownRequiredColumns, Scan {
  private static final String COUNTED = "_commit_version";
  private final ArcticTable scans;
  private final StructType schema;
  private final CaseInsensitiveStringMap options;
  private final boolean net;
  private StructType columns;
  /** Null: not planned yet. */
  private Batch batch;

  ChangesScan(StructType schema, CaseInsensitiveStringMap options, boolean net) {
    // No other scan of a query reads the state that changes lead to, so none is shared.
    this.scans = ArcticTable.of(schema, new Pins(), Callback.AT_USE);
    this.schema = schema;
    this.options = options;
    this.net = net;
    this.columns = schema;
  }

  public void pruneColumns(StructType required) {
    // Rows are told by their columns: count(*) takes one. Parts of a struct are read whole.
    StructField[] whole = new StructField[Math.max(required.length(), 1)];
    for (int i = 0; i < whole.length; i++) {
      whole[i] = schema.apply(required.isEmpty() ? COUNTED : required.apply(i).name());
    }
    columns = new StructType(whole);
  }

  public Scan build() {
    return this;
  }

  public StructType readSchema() {
    return columns;
  }

  public String description() {
    return "(Arctic) changes of " + options.get("path");
  }

  public synchronized Batch toBatch() {
    if (batch == null) {
      ScanBuilder builder = scans.newScanBuilder(options);
      ((SupportsPushDownRequiredColumns) builder).pruneColumns(columns);
      batch = builder.build().toBatch();
    }
    return batch;
  }

  public MicroBatchStream toMicroBatchStream(String checkpoint) {
    if (net) {
      throw new UnsupportedOperationException("deduplicationMode = netChanges for a stream of "
          + options.get("path") + ": each commit is told by itself; expected none or "
          + "dropCarryovers, or a batch of changes");
    }
    Map given = new HashMap(options.asCaseSensitiveMap());
    given.put("_arctic_stream", "true");
    return scans.stream(columns, new CaseInsensitiveStringMap(given)).toMicroBatchStream(checkpoint);
  }
}
