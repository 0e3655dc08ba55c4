package arctic.spark;

import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.types.StructType;

/** How much a scan reads, by which Spark decides what it broadcasts. */
public final class Estimate implements Statistics {
  private final OptionalLong size;
  private final OptionalLong rows;

  private Estimate(OptionalLong size, OptionalLong rows) {
    this.size = size;
    this.rows = rows;
  }

  /** Files are weighed as Spark weighs its own: by the share of the columns that are read. */
  public static Estimate of(Protocol.ScanAnswer told, StructType columns, StructType all) {
    if (told.rows == null) {
      return new Estimate(OptionalLong.empty(), OptionalLong.empty());
    }
    double share = (double) columns.defaultSize() / Math.max(1, all.defaultSize());
    return new Estimate(OptionalLong.of(Math.max(1L, (long) ((double) told.sizeBytes * share))),
        OptionalLong.of(told.rows.longValue()));
  }

  /** Returns that of so many rows in memory. */
  public static Estimate of(long rows, StructType columns) {
    return new Estimate(OptionalLong.of(rows * (8 + columns.defaultSize())), OptionalLong.of(rows));
  }

  public OptionalLong sizeInBytes() {
    return size;
  }

  public OptionalLong numRows() {
    return rows;
  }
}
