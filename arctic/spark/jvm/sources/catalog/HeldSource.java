package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.LogicalRDD;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;

/**
 * The many rows of the source of a MERGE, read once by tasks and before its table: they say which
 * rows of it are looked for, and stay the same however often the MERGE is done.
 *
 * They are held as a local checkpoint. Rows that are made again could be others, so an executor that
 * is lost with some of them fails the statement; nothing is computed from what came of them.
 *
 * Memory: the rows, in that of the executors for storage, and what it does not hold on their disks.
 */
final class HeldSource {
  /** By Spark's estimate; of those that nobody knows more are held. */
  private static final long MOST_BYTES = 4L << 30;
  /** Types whose values are told as JSON has them. */
  private static final List TOLD = Arrays.asList(new DataType[] {DataTypes.IntegerType,
      DataTypes.LongType, DataTypes.DateType, DataTypes.TimestampType, DataTypes.TimestampNTZType,
      DataTypes.StringType});

  /** Of the same MERGE, with what is known of them. */
  final SoughtRows sought;
  private final LogicalRDD rows;

  private HeldSource(SoughtRows sought, LogicalRDD rows) {
    this.sought = sought;
    this.rows = rows;
  }

  /** Returns null where to look at the source is not worth it. */
  static HeldSource of(SoughtRows sought, Map options, SparkSession session) {
    List columns = sought.openColumns();
    List values = sought.openValues();
    for (int i = 0; i < values.size(); i++) {
      DataType type = ((Expression) values.get(i)).dataType();
      if (!TOLD.contains(type) && !(type instanceof DecimalType)) {
        return null;
      }
    }
    java.math.BigInteger estimate = Dataset$.MODULE$.ofRows(session, sought.source)
        .queryExecution().optimizedPlan().stats().sizeInBytes().bigInteger();
    boolean isKnown = estimate.bitLength() < 50;   // else Spark has none of them, or guesses
    if (isKnown && estimate.longValue() > MOST_BYTES) {
      return null;
    }
    Map question = CatalogQuestions.sought(
        options, columns, isKnown ? Long.valueOf(estimate.longValue()) : null);
    if (!new CatalogProtocol.SoughtAnswer(Answers.to(question)).found) {
      return null;
    }
    Dataset held = (Dataset) Dataset$.MODULE$.ofRows(session, sought.source).localCheckpoint(false);
    LogicalPlan rows = held.queryExecution().analyzed();
    HeldSource source = new HeldSource(sought.withHeld(rows), (LogicalRDD) rows);
    List compared = source.sought.openValues();
    for (int i = 0; i < compared.size(); i++) {
      compared.set(i, CommandRows.named((Expression) compared.get(i), "c" + i));
    }
    Dataset looked = Dataset$.MODULE$.ofRows(session, new Project(Trees.seq(compared), rows));
    boolean isKnownNow = false;
    try {
      source.sought.learn(new CatalogProtocol.SoughtAnswer(Answers.to(question, looked)));
      isKnownNow = true;
    } finally {
      if (!isKnownNow) {
        source.letGo();
      }
    }
    return source;
  }

  void letGo() {
    rows.rdd().unpersist(false);
  }
}
