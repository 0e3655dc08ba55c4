package arctic.spark;

import java.util.OptionalLong;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.types.StructType;

/** How much a scan reads, by which Spark decides what it broadcasts. */
public final class Estimate implements Statistics {
  private static final long ROW_BYTES = 8;

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

  /**
   * Returns the larger of what Spark says of its own files, the share of the columns that are read,
   * and what the values of that many rows take: files may be packed so well that millions of rows
   * would be taken for few, and be sent to every task.
   */
  static Estimate of(long sizeBytes, long rows, StructType columns, StructType all) {
    double share = (double) width(columns) / (double) width(all);
    long stored = (long) ((double) sizeBytes * share);
    return new Estimate(OptionalLong.of(Math.max(1L, Math.max(stored, rows * columns.defaultSize()))),
        OptionalLong.of(rows));
  }

  /** As Spark reckons it for what becomes of the columns then. */
  static long width(StructType columns) {
    return ROW_BYTES + (long) columns.defaultSize();
  }

  public OptionalLong sizeInBytes() {
    return size;
  }

  public OptionalLong numRows() {
    return rows;
  }
}
