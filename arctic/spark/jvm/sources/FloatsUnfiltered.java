package arctic.spark;

import java.util.ArrayList;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Spark's Parquet, whose reader is given no filter of a floating column. Executors are sent Spark's
 * own.
 *
 * Writers leave NaN out of a file's bounds, by which its row would be left out. No place in a plan is
 * out of a filter's reach: that of a subquery becomes a part of the query's, and is optimized again.
 */
public final class FloatsUnfiltered extends ParquetFileFormat {
  public scala.Function1 buildReaderWithPartitionValues(SparkSession session, StructType data,
      StructType partition, StructType required, scala.collection.immutable.Seq filters,
      scala.collection.immutable.Map options, Configuration settings) {
    ArrayList kept = new ArrayList();
    for (int i = 0; i < filters.length(); i++) {
      if (!namesFloats((Filter) filters.apply(i), data)) {
        kept.add(filters.apply(i));
      }
    }
    return super.buildReaderWithPartitionValues(
        session, data, partition, required, Trees.seq(kept), options, settings);
  }

  /** Says so of a column that is not there too. */
  private static boolean namesFloats(Filter filter, StructType data) {
    String[][] names = filter.v2references();
    for (int i = 0; i < names.length; i++) {
      DataType type = data;
      for (int part = 0; part < names[i].length; part++) {
        if (!(type instanceof StructType)
            || ((StructType) type).getFieldIndex(names[i][part]).isEmpty()) {
          return true;
        }
        type = ((StructType) type).apply(names[i][part]).dataType();
      }
      if (isFloat(type)) {
        return true;
      }
    }
    return false;
  }

  /** Null is none. */
  static boolean isFloat(DataType type) {
    return DataTypes.DoubleType.equals(type) || DataTypes.FloatType.equals(type);
  }

  protected Object writeReplace() {
    return new ParquetFileFormat();
  }
}
