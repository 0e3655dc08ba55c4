package arctic.spark;

import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Aggregates of all rows, made by the tasks that read them, in parts that Spark adds up.
 *
 * What tasks do is asked for when the query begins, as the dead rows of files are then looked up.
 */
public final class PartialAggregates implements Scan, Batch, SupportsReportStatistics {
  static final String WANTED = "spark.arctic.aggregateWithArrow";
  private static final String EXACT = "exact";

  private final String format;
  private final Function planner;
  private final CaseInsensitiveStringMap options;
  private final AskedAggregates asked;
  /** By which tasks filter. */
  private final List hints;
  /** Pinned to the state that was asked about. */
  private final Map question;
  private final List plan;
  /** Of the rows: groups may be as many, and what is thought to be small is sent everywhere. */
  private final Estimate estimate;
  /** Null: the query has not begun. */
  private Batch begun;

  private PartialAggregates(String format, Function planner, CaseInsensitiveStringMap options,
      AskedAggregates asked, List hints, Map question, List plan, Estimate estimate) {
    this.format = format;
    this.planner = planner;
    this.options = options;
    this.asked = asked;
    this.hints = hints;
    this.question = question;
    this.plan = plan;
    this.estimate = estimate;
  }

  static boolean areWanted() {
    return wanted().equals("true") || wanted().equals(EXACT);
  }

  private static String wanted() {
    return SparkSession.active().conf().get(WANTED, "true");
  }

  /** Returns null where Spark makes them itself, of rows that it filters itself. */
  static PartialAggregates of(String format, Function planner, Pins pins, StructType relation,
      CaseInsensitiveStringMap options, Aggregation aggregation, List averaged, List hints) {
    if (planner == null || !areWanted()) {
      return null;
    }
    boolean floats = !wanted().equals(EXACT);
    AskedAggregates asked = AskedAggregates.of(aggregation, relation, floats);
    if (asked == null) {
      return null;
    }
    Map pinned = pins.ofThisQuery();
    Map table = Pins.table(options);
    Map question = PartialProtocol.partial(options.asCaseSensitiveMap(), relation, asked.yields,
        asked.keys, asked.functions, averaged, hints, floats,
        SparkContext.getOrCreate().defaultParallelism(), pins.nameOfThisQuery(),
        (String) pinned.get(table));
    Map answer = Protocol.asked(planner, question);
    if (answer == null) {
      return null;
    }
    PartialProtocol.PartialAnswer told = new PartialProtocol.PartialAnswer(answer);
    pinned.put(table, told.pin);
    PartialProtocol.pin(question, told);
    return new PartialAggregates(format, planner, options, asked, hints, question, told.plan,
        Estimate.of(told.sizeBytes, told.rows, asked.yields, relation));
  }

  /** Returns what stands in a plan that nobody goes on with. */
  static Scan notMade(StructType columns) {
    return new NotMade(columns);
  }

  private static final class NotMade implements Scan {
    private final StructType columns;

    NotMade(StructType columns) {
      this.columns = columns;
    }

    public StructType readSchema() {
      return columns;
    }
  }

  public StructType readSchema() {
    return asked.yields;
  }

  public Batch toBatch() {
    return this;
  }

  /** Said here, for Spark would have the query begun to ask its partitions. */
  public Scan.ColumnarSupportMode columnarSupportMode() {
    return Scan.ColumnarSupportMode.UNSUPPORTED;
  }

  public InputPartition[] planInputPartitions() {
    return begun().planInputPartitions();
  }

  public PartitionReaderFactory createReaderFactory() {
    return begun().createReaderFactory();
  }

  private synchronized Batch begun() {
    if (begun == null) {
      PartialProtocol.BeginAnswer told = new PartialProtocol.BeginAnswer(
          Protocol.demanded(planner, PartialProtocol.begin(plan)));
      begun = scan(new PythonDataSourceReadInfo(told.function, Trees.seq(told.partitions)))
          .toBatch();
    }
    return begun;
  }

  private Scan scan(PythonDataSourceReadInfo info) {
    PythonDataSourceV2 source = ArcticTable.named(format);
    source.setReadInfo(info);
    return new PythonScan(source, format, asked.yields, options, new Filter[0]);
  }

  public Statistics estimateStatistics() {
    return estimate;
  }

  public CustomMetric[] supportedCustomMetrics() {
    return scan(null).supportedCustomMetrics();
  }

  public String description() {
    return "(Arctic) aggregated by each task: " + asked.functions
        + (asked.keys.isEmpty() ? "" : " by " + asked.keys)
        + (hints.isEmpty() ? "" : " where " + Protocol.json(hints));
  }

  public boolean equals(Object other) {
    return other instanceof PartialAggregates
        && ((PartialAggregates) other).question.equals(question);
  }

  public int hashCode() {
    return question.hashCode();
  }
}
