package arctic.spark;

import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat;

/** Spark's Parquet, of which files with dead rows are not divided. Executors are sent Spark's own. */
public final class WholeFiles extends ParquetFileFormat {
  private final ParquetFiles.Index index;

  WholeFiles(ParquetFiles.Index index) {
    this.index = index;
  }

  public boolean isSplitable(SparkSession session, scala.collection.immutable.Map options,
      Path path) {
    return !index.isDirty(path);
  }

  protected Object writeReplace() {
    return new ParquetFileFormat();
  }
}
