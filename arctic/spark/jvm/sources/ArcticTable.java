package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A Python table whose scans are their own: each query plans with the columns and filters it has.
 *
 * Spark keeps one read plan for each Python table, so with its own filter push-down a second query
 * on the same frame or view gets the rows of the first one's filter, and a view never sees a later
 * write. Here every scan has a plan of its own, and is told which columns it must return; only the
 * state of the table is shared by the scans of one query.
 */
public final class ArcticTable extends PythonTable implements TakesFilters {
  private static final String FORMAT = "arctic";
  private final PythonDataSourceV2 source;
  private final StructType schema;
  private final Pins pins;
  /** Null: workers plan. */
  private final Function planner;
  /** Whether a scan filters by itself, which it does for aggregates that tasks make alone. */
  private final boolean takesFilters;

  private ArcticTable(PythonDataSourceV2 source, PythonTable table, Pins pins, Function planner,
      boolean takesFilters) {
    super(source, table.name(), table.schema());
    this.source = source;
    this.schema = table.schema();
    this.pins = pins;
    this.planner = planner;
    this.takesFilters = takesFilters;
  }

  public static ArcticTable of(PythonTable table, Pins pins, Function planner) {
    return new ArcticTable(named(table.name()), table, pins, planner, false);
  }

  /** Returns what scans a table of these columns that a catalog knows. */
  public static ArcticTable of(StructType schema, Pins pins, Function planner) {
    Callback.makeKnown(FORMAT);
    PythonDataSourceV2 source = named(FORMAT);
    return new ArcticTable(source, new PythonTable(source, FORMAT, schema), pins, planner, false);
  }

  public Table takingFilters() {
    return new ArcticTable(source, this, pins, planner, true);
  }

  static PythonDataSourceV2 named(String format) {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(format);
    return source;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new Builder(this, options);
  }

  /** Returns the same for a scan that has another hint than the filters of its query. */
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options, List hint) {
    Builder builder = new Builder(this, options);
    builder.hints.add(hint);
    return builder;
  }

  /** Returns what becomes a stream of these columns, planned by the worker of Spark that it has. */
  public Scan stream(StructType columns, CaseInsensitiveStringMap options) {
    return new PythonScan(named(name()), name(), columns, options, new Filter[0]);
  }

  /** What one scan is to read, so that it can be planned more than once. */
  static final class Wanted {
    private final ArcticTable table;
    private final CaseInsensitiveStringMap options;
    private final StructType columns;
    private final List hints;
    /** Null: all rows. */
    private final Integer limit;

    Wanted(ArcticTable table, CaseInsensitiveStringMap options, StructType columns, List hints,
        Integer limit) {
      this.table = table;
      this.options = options;
      this.columns = columns;
      this.hints = hints;
      this.limit = limit;
    }

    ArcticTable table() {
      return table;
    }

    /** Plans in Python, once: in the process of the session, or else in a worker. */
    OwnScan planned(KeyGroupsAsked groups) {
      return table.plan(this, groups);
    }
  }

  private OwnScan plan(Wanted wanted, KeyGroupsAsked groups) {
    CaseInsensitiveStringMap options = wanted.options;
    StructType columns = wanted.columns;
    Map pinned = pins.ofThisQuery();
    Map table = Pins.table(options);
    // A limit ends each task of a plan; one that is in groups is asked for no others.
    boolean takesGroups = groups == null && wanted.limit == null && KeyGroupsAsked.areWanted();
    Map question = Protocol.scan(wanted.hints, SparkContext.getOrCreate().defaultParallelism(),
        pins.nameOfThisQuery(), (String) pinned.get(table), ParquetFiles.areWanted(), planner != null, takesGroups,
        wanted.limit, groups == null ? null : groups.told(), required());
    Protocol.ScanAnswer told;
    PythonDataSourceReadInfo info;
    Map answer = Protocol.asked(
        planner, Protocol.plan(options.asCaseSensitiveMap(), columns, question));
    if (answer != null) {
      Protocol.PlanAnswer planned = new Protocol.PlanAnswer(answer);
      told = planned.scan;
      info = new PythonDataSourceReadInfo(planned.function, Trees.seq(planned.partitions));
    } else {
      PythonDataSourceReadInfo whole = source.source().createReadInfoInPython(
          source.getOrCreateDataSourceInPython(name(), options, scala.Option.apply(schema)),
          Protocol.asking(columns, question), false);
      told = Protocol.answered((byte[]) whole.partitions().apply(0));
      info = new PythonDataSourceReadInfo(
          whole.func(), (scala.collection.immutable.Seq) whole.partitions().tail());
    }
    pinned.put(table, told.pin);
    PythonDataSourceV2 own = named(name());
    own.setReadInfo(info);
    Scan scan = new PythonScan(own, name(), columns, options, new Filter[0]);
    Estimate estimate = Estimate.of(told, columns, schema);
    String shown = Protocol.json(wanted.hints);
    Map settings = HadoopFiles.unsaid(told.settings);
    String unreached = HadoopFiles.hindrance(told.paths, settings);
    ParquetFiles files = unreached != null ? null : ParquetFiles.of(told, settings, columns,
        estimate.sizeInBytes().orElse(1L), planner, groups);
    String hindrance = unreached != null ? unreached : told.hindrance;
    List groupings = new ArrayList();
    for (int i = 0; i < told.groupings.size(); i++) {
      groupings.add(KeyGroupsAsked.of((List) told.groupings.get(i)));
    }
    // What Python has set apart for Spark is in no group of its own.
    boolean isWhole = told.paths.isEmpty() || files != null;
    return new OwnScan(scan, wanted, columns.json() + shown + wanted.limit + told.pin,
        hindrance == null ? shown : shown + "; Spark does not read its files: " + hindrance,
        estimate, files, false, isWhole ? groups : null, groupings);
  }

  /** Returns the columns of the table that have no null, as far as the query knows. */
  private List required() {
    ArrayList names = new ArrayList();
    for (int i = 0; i < schema.length(); i++) {
      if (!schema.apply(i).nullable()) {
        names.add(schema.apply(i).name());
      }
    }
    return names;
  }

  /** Gathers what one scan needs, and plans it once. */
  static class Builder implements ScanBuilder, SupportsPushDownV2Filters,
      SupportsPushDownRequiredColumns, SupportsPushDownAggregates, SupportsPushDownLimit {
    private final ArcticTable table;
    private final CaseInsensitiveStringMap options;
    private final List hints = new ArrayList();
    /** Those that Spark does not filter by. */
    private final List taken = new ArrayList();
    private StructType columns;
    /** Null: all rows. */
    private Integer limit;
    /** Null: rows are wanted, or metadata does not say. */
    private Scan known;
    /** Whether metadata was asked, which says the same for parts of an aggregate. */
    private boolean isAsked;
    /** Columns whose averages are wanted, of which Spark asks for sums next. */
    private final List averaged = new ArrayList();
    /** Null: Spark makes aggregates itself. */
    private Scan parts;

    Builder(ArcticTable table, CaseInsensitiveStringMap options) {
      this.table = table;
      this.options = options;
      this.columns = table.schema;
    }

    public Predicate[] pushPredicates(Predicate[] predicates) {
      ArrayList left = new ArrayList();
      for (int i = 0; i < predicates.length; i++) {
        List hint = Hints.of(predicates[i]);
        if (hint != null) {
          hints.add(hint);
        }
        (hint != null && table.takesFilters ? taken : left).add(predicates[i]);
      }
      return (Predicate[]) left.toArray(new Predicate[0]);
    }

    public Predicate[] pushedPredicates() {
      return (Predicate[]) taken.toArray(new Predicate[0]);
    }

    public void pruneColumns(StructType required) {
      // A reader yields rows by their columns: count(*) needs one, and the cheapest will do.
      if (required.isEmpty()) {
        columns = new StructType(new StructField[] {narrowest()});
        return;
      }
      // Spark asks for parts of a struct too; columns are read whole.
      StructField[] whole = new StructField[required.length()];
      for (int i = 0; i < whole.length; i++) {
        // Beside the table's own there may be columns that say where a row is stored.
        StructField wanted = required.apply(i);
        boolean own = table.schema.getFieldIndex(wanted.name()).isDefined();
        whole[i] = own ? table.schema.apply(wanted.name()) : wanted;
      }
      columns = new StructType(whole);
    }

    /** Spark asks only where no filter is left, and first whether the answer would be whole. */
    public boolean supportCompletePushDown(Aggregation aggregation) {
      averaged.addAll(AskedAggregates.averaged(aggregation));
      return isKnown(aggregation);
    }

    public boolean pushAggregation(Aggregation aggregation) {
      boolean isFiltered = hints.size() > taken.size();
      if (!isKnown(aggregation) && !isFiltered && limit == null) {
        parts = PartialAggregates.of(table.name(), table.planner, table.pins, table.schema, options,
            aggregation, averaged, hints);
      }
      return known != null || parts != null;
    }

    /** Returns whether metadata answers it, which is asked once. */
    private boolean isKnown(Aggregation aggregation) {
      if (!isAsked && hints.isEmpty()) {
        isAsked = true;
        known = KnownRow.of(table.planner, table.pins, table.schema, options, aggregation);
      }
      return known != null;
    }

    /** Each partition yields no more; Spark takes no more of all of them. */
    public boolean pushLimit(int limit) {
      this.limit = Integer.valueOf(limit);
      return true;
    }

    public boolean isPartiallyPushed() {
      return true;
    }

    public Scan build() {
      return known != null ? known : parts != null ? parts
          : table.takesFilters ? PartialAggregates.notMade(columns)
          : (Scan) new Wanted(table, options, columns, hints, limit).planned(null);
    }

    private StructField narrowest() {
      StructField best = table.schema.apply(0);
      for (int i = 1; i < table.schema.length(); i++) {
        StructField field = table.schema.apply(i);
        if (field.dataType().defaultSize() < best.dataType().defaultSize()) {
          best = field;
        }
      }
      return best;
    }
  }
}
