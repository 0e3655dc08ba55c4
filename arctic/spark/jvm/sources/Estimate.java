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

  /** Returns that of a scan; nothing where it was not told. */
  public static Estimate of(Protocol.ScanAnswer told, StructType columns, StructType all) {
    return told.rows == null ? new Estimate(OptionalLong.empty(), OptionalLong.empty())
        : of(told.sizeBytes, told.rows.longValue(), columns, all);
  }

  /** Files are weighed as Spark weighs its own: by the share of the columns that are read. */
  static Estimate of(long sizeBytes, long rows, StructType columns, StructType all) {
    double share = (double) columns.defaultSize() / Math.max(1, all.defaultSize());
    return new Estimate(OptionalLong.of(Math.max(1L, (long) ((double) sizeBytes * share))),
        OptionalLong.of(rows));
  }

  public OptionalLong sizeInBytes() {
    return size;
  }

  public OptionalLong numRows() {
    return rows;
  }
}
