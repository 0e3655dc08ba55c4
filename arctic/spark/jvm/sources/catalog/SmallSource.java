package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Statistics;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.types.StructType;

/**
 * The few rows of the source of a MERGE, read once and before its table: they say which rows of it
 * are looked for, and stay the same however often the MERGE is done.
 *
 * Memory: MOST_ROWS rows in the driver.
 */
final class SmallSource {
  private static final int MOST_ROWS = 10000;
  /** By Spark's estimate, which for files is their size. */
  private static final long MOST_BYTES = 1L << 20;
  private static final int DATA_FIELD = 1;

  private SmallSource() {}

  /** Returns the rows of a plan as a part of another; null: they are many, or may be. */
  static LogicalPlan values(LogicalPlan source, SparkSession session) {
    QueryExecution query = Dataset$.MODULE$.ofRows(session, source).queryExecution();
    if (!isSmall(query.optimizedPlan())) {
      return null;
    }
    InternalRow[] rows = query.executedPlan().executeTake(MOST_ROWS + 1);
    if (rows.length > MOST_ROWS) {
      return null;
    }
    LogicalPlan empty = LocalRelation$.MODULE$.apply(new StructType());
    LogicalPlan named = Trees.with(empty, 0, source.output());
    return Trees.with(named, DATA_FIELD, Trees.seq(Arrays.asList((Object[]) rows)));
  }

  private static boolean isSmall(LogicalPlan plan) {
    Statistics estimate = plan.stats();
    if (estimate.rowCount().isDefined()) {
      return ((scala.math.BigInt) estimate.rowCount().get()).bigInteger().bitLength() < 32
          && ((scala.math.BigInt) estimate.rowCount().get()).longValue() <= MOST_ROWS;
    }
    return estimate.sizeInBytes().bigInteger().bitLength() < 63
        && estimate.sizeInBytes().longValue() <= MOST_BYTES || isOfRows(plan);
  }

  /**
   * Returns whether it is rows of Python's, or of a batch of a stream, and nothing but them: Spark
   * knows nothing of how many they are, and the first of them cost little.
   */
  private static boolean isOfRows(LogicalPlan plan) {
    LogicalPlan below = plan;
    while (below instanceof Project || below instanceof Filter) {
      below = (LogicalPlan) below.children().apply(0);
    }
    return below instanceof LogicalRDD;
  }
}
