package arctic.spark;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.WeakHashMap;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownLimit;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A Python table whose scans are their own: each query plans with the columns and filters it has.
 *
 * Spark keeps one read plan for each Python table, so with its own filter push-down a second query
 * on the same frame or view gets the rows of the first one's filter, and a view never sees a later
 * write. Here every scan has a plan of its own, and is told which columns it must return; only the
 * state of the table is shared by the scans of one query.
 *
 * Filters are hints: the reader may use them to leave rows out, Spark evaluates them all the same.
 *
 * Compiled in the driver when a session is registered, by a compiler without generics and lambdas.
 * Executors never see these classes: what is sent to them is Spark's own.
 */
public class ArcticTable extends PythonTable {
  private static final ObjectMapper JSON = new ObjectMapper();
  /** Alternations of AND, OR and NOT in a hint; a deeper one is left to Spark alone. */
  private static final int MAX_DEPTH = 40;
  private final PythonDataSourceV2 source;
  private final StructType schema;

  private final Pins pins;
  /** Null: workers plan. */
  private final Function planner;

  private ArcticTable(PythonDataSourceV2 source, PythonTable table, Pins pins, Function planner) {
    super(source, table.name(), table.schema());
    this.source = source;
    this.schema = table.schema();
    this.pins = pins;
    this.planner = planner;
  }

  private static PythonDataSourceV2 named(String format) {
    PythonDataSourceV2 source = new PythonDataSourceV2();
    source.setShortName(format);
    return source;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new Builder(this, options);
  }

  /** Plans in Python, once; the question travels in the metadata of the first column. */
  private Scan plan(CaseInsensitiveStringMap options, StructType columns, List hints,
      Integer limit) {
    Map pinned = pins.ofThisQuery();
    String table = options.asCaseSensitiveMap().toString();
    Map question = new LinkedHashMap();
    question.put("hints", hints);
    question.put("parallelism", Integer.valueOf(SparkContext.getOrCreate().defaultParallelism()));
    question.put("pin", pinned.get(table));
    question.put("reads", Boolean.valueOf(ParquetFiles.areWanted()));
    question.put("vectors", Boolean.valueOf(planner != null));
    question.put("limit", limit);
    StructType asked = asking(columns, json(question));
    Plan plan = Plan.inDriver(planner, options, asked);
    if (plan == null) {
      plan = Plan.inWorker(source.source().createReadInfoInPython(
          source.getOrCreateDataSourceInPython(name(), options, scala.Option.apply(schema)),
          asked, false));
    }
    String pin = (String) plan.told.get("pin");
    pinned.put(table, pin);
    PythonDataSourceV2 own = named(name());
    own.setReadInfo(plan.info);
    Scan scan = new PythonScan(own, name(), columns, options, new Filter[0]);
    Estimate estimate = Estimate.of(plan.told, columns, schema);
    return new OwnScan(scan, this, columns.json() + json(hints) + limit + pin, json(hints),
        estimate, ParquetFiles.of(plan.told, columns, estimate.size.orElse(1L), planner), false);
  }

  /** What Python made of a question: how executors read, and what the scan is told. */
  static class Plan {
    final PythonDataSourceReadInfo info;
    final Map told;

    private Plan(PythonDataSourceReadInfo info, Map told) {
      this.info = info;
      this.told = told;
    }

    /** Returns null where that is not possible. */
    static Plan inDriver(Function planner, CaseInsensitiveStringMap options, StructType asked) {
      String answer = asked(planner, "{\"options\":" + json(options.asCaseSensitiveMap())
          + ",\"schema\":" + asked.json() + "}");
      if (answer == null) {
        return null;
      }
      Map told = read(answer);
      if (told.get("error") != null) {
        throw new IllegalArgumentException((String) told.get("error"));
      }
      List pickled = (List) told.get("partitions");
      ArrayList partitions = new ArrayList();
      for (int i = 0; i < pickled.size(); i++) {
        partitions.add(bytes(pickled.get(i)));
      }
      return new Plan(new PythonDataSourceReadInfo(bytes(told.get("function")), seq(partitions)),
          told);
    }

    /** The first partition is none: a pickled text, with the answer between two tags. */
    static Plan inWorker(PythonDataSourceReadInfo info) {
      String text = new String((byte[]) info.partitions().apply(0), StandardCharsets.ISO_8859_1);
      String answer = text.substring(text.indexOf("<answer>") + 8, text.indexOf("</answer>"));
      return new Plan(new PythonDataSourceReadInfo(
          info.func(), (scala.collection.immutable.Seq) info.partitions().tail()), read(answer));
    }

    private static byte[] bytes(Object base64) {
      return Base64.getDecoder().decode((String) base64);
    }
  }

  private static StructType asking(StructType columns, String question) {
    StructField first = columns.apply(0);
    StructField[] fields = (StructField[]) columns.fields().clone();
    fields[0] = new StructField(first.name(), first.dataType(), first.nullable(),
        new MetadataBuilder().putString("arctic.question", question).build());
    return new StructType(fields);
  }

  /** Returns null where the process of the session is not there, or has no answer. */
  private static String asked(Function planner, String question) {
    try {
      return planner == null ? null : (String) planner.apply(question);
    } catch (RuntimeException unreachable) {
      return null;
    }
  }

  private static Map read(String json) {
    try {
      return (Map) JSON.readValue(json, Map.class);
    } catch (com.fasterxml.jackson.core.JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (com.fasterxml.jackson.core.JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  /** What the scans of one query have pinned, so that all of them see the same state. */
  static class Pins {
    private final Map queries = new WeakHashMap();

    synchronized Map ofThisQuery() {
      scala.Option query = QueryPlanningTracker.get();
      if (query.isEmpty()) {
        return new HashMap();
      }
      Map pinned = (Map) queries.get(query.get());
      if (pinned == null) {
        pinned = Collections.synchronizedMap(new HashMap());
        queries.put(query.get(), pinned);
      }
      return pinned;
    }
  }

  /** Builds the rule; handed to SparkSessionExtensions.injectOptimizerRule. */
  public static class Install extends scala.runtime.AbstractFunction1 {
    // Spark asks for a rule more than once in a query, and the rule remembers.
    private final OwnScans rule;

    public Install(String format, Function planner, String noEntries) {
      this.rule = new OwnScans(format, planner, noEntries);
    }

    public Object apply(Object session) {
      return rule;
    }
  }

  /** Puts an ArcticTable where a query reads a Python table of our format. */
  public static class OwnScans extends Rule {
    private final String format;
    private final Function planner;
    /** Why Spark's own catalog has no table of this format. */
    private final String noEntries;
    private final Pins pins = new Pins();
    // The scans of a self-join are recognised as equal by sharing their table.
    private final Map tables = new WeakHashMap();

    OwnScans(String format, Function planner, String noEntries) {
      this.format = format;
      this.planner = planner;
      this.noEntries = noEntries;
    }

    public String ruleName() {
      return "arctic.spark.OwnScans";
    }

    public TreeNode apply(TreeNode plan) {
      return rewritten(Commands.settled((LogicalPlan) plan, format, planner, noEntries));
    }

    private LogicalPlan rewritten(LogicalPlan plan) {
      if (plan instanceof DataSourceV2Relation) {
        return swapped((DataSourceV2Relation) plan);
      }
      scala.collection.immutable.Seq children = plan.children();
      ArrayList changed = new ArrayList();
      boolean same = true;
      for (int i = 0; i < children.length(); i++) {
        LogicalPlan child = (LogicalPlan) children.apply(i);
        LogicalPlan next = rewritten(child);
        same = same && next == child;
        changed.add(next);
      }
      if (same) {
        return plan;
      }
      return (LogicalPlan) plan.withNewChildren(seq(changed));
    }

    private LogicalPlan swapped(DataSourceV2Relation relation) {
      if (relation.table().getClass() != PythonTable.class
          || !relation.table().name().equalsIgnoreCase(format)) {
        return relation;
      }
      if (relation.identifier().isDefined()) {
        throw Commands.refused(relation.identifier().get().toString(), noEntries);
      }
      return (LogicalPlan) relation.makeCopy(
          fieldsWith(relation, 0, own((PythonTable) relation.table())));
    }

    private synchronized Object own(PythonTable table) {
      Object known = tables.get(table);
      if (known == null) {
        known = new ArcticTable(named(table.name()), table, pins, planner);
        tables.put(table, known);
      }
      return known;
    }
  }

  /**
   * Has files read by Spark's own Parquet scan, beside the Python scan of those it cannot read.
   *
   * Runs when every scan is planned: the two are of one state of the table, and together hold each
   * data file once. A scan that this rule does not come by reads these files too.
   */
  public static class ReadWithSpark extends Rule {
    public String ruleName() {
      return "arctic.spark.ReadWithSpark";
    }

    public TreeNode apply(TreeNode plan) {
      return rewritten((LogicalPlan) plan);
    }

    private LogicalPlan rewritten(LogicalPlan plan) {
      if (plan instanceof org.apache.spark.sql.catalyst.plans.logical.Filter) {
        org.apache.spark.sql.catalyst.plans.logical.Filter filter =
            (org.apache.spark.sql.catalyst.plans.logical.Filter) plan;
        if (hasFiles(filter.child())) {
          return rows((DataSourceV2ScanRelation) filter.child(), filter.condition());
        }
      }
      if (hasFiles(plan)) {
        return rows((DataSourceV2ScanRelation) plan, null);
      }
      scala.collection.immutable.Seq children = plan.children();
      ArrayList changed = new ArrayList();
      boolean same = true;
      for (int i = 0; i < children.length(); i++) {
        LogicalPlan child = (LogicalPlan) children.apply(i);
        LogicalPlan next = rewritten(child);
        same = same && next == child;
        changed.add(next);
      }
      return same ? plan : (LogicalPlan) plan.withNewChildren(seq(changed));
    }

    private static boolean hasFiles(LogicalPlan plan) {
      if (!(plan instanceof DataSourceV2ScanRelation)) {
        return false;
      }
      Scan scan = ((DataSourceV2ScanRelation) plan).scan();
      return scan instanceof OwnScan && ((OwnScan) scan).files != null
          && !((OwnScan) scan).leavesFiles;
    }

    /** Returns what yields the rows of a scan, those of the files that it leaves included. */
    private static LogicalPlan rows(DataSourceV2ScanRelation relation,
        org.apache.spark.sql.catalyst.expressions.Expression condition) {
      OwnScan scan = (OwnScan) relation.scan();
      // A union keeps a filter that must not reach the Parquet scan away from it.
      boolean kept = condition != null && (!condition.deterministic() || comparesFloats(condition));
      ArrayList parts = new ArrayList();
      if (scan.files.merged > 0 || kept) {
        parts.add(where(scan.leavingFiles(relation), kept ? null : condition));
      }
      parts.add(where(scan.files.rows(relation.output()), kept ? null : condition));
      if (parts.size() == 1) {
        return (LogicalPlan) parts.get(0);
      }
      LogicalPlan rows = new Union(seq(parts), false, false);
      return kept ? where(rows, condition) : rows;
    }

    /** Writers leave NaN out of a file's bounds, by which Spark would then leave out its row. */
    private static boolean comparesFloats(
        org.apache.spark.sql.catalyst.expressions.Expression expression) {
      DataType type = expression.dataType();
      if (type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType)) {
        return true;
      }
      scala.collection.immutable.Seq children = expression.children();
      for (int i = 0; i < children.length(); i++) {
        if (comparesFloats((org.apache.spark.sql.catalyst.expressions.Expression) children.apply(i))) {
          return true;
        }
      }
      return false;
    }

    private static LogicalPlan where(LogicalPlan plan,
        org.apache.spark.sql.catalyst.expressions.Expression condition) {
      return condition == null ? plan
          : new org.apache.spark.sql.catalyst.plans.logical.Filter(condition, plan);
    }
  }

  /** How much a scan reads, by which Spark decides what it broadcasts. */
  static class Estimate implements Statistics {
    private final OptionalLong size;
    private final OptionalLong rows;

    private Estimate(OptionalLong size, OptionalLong rows) {
      this.size = size;
      this.rows = rows;
    }

    /** Files are weighed as Spark weighs its own: by the share of the columns that are read. */
    static Estimate of(Map told, StructType columns, StructType all) {
      if (told.get("rows") == null) {
        return new Estimate(OptionalLong.empty(), OptionalLong.empty());
      }
      double bytes = ((Number) told.get("bytes")).doubleValue();
      double share = (double) columns.defaultSize() / Math.max(1, all.defaultSize());
      return new Estimate(OptionalLong.of(Math.max(1L, (long) (bytes * share))),
          OptionalLong.of(((Number) told.get("rows")).longValue()));
    }

    public OptionalLong sizeInBytes() {
      return size;
    }

    public OptionalLong numRows() {
      return rows;
    }
  }

  /** For makeCopy: copy() has another arity in each Spark version, the first fields stay. */
  private static Object[] fieldsWith(scala.Product plan, int changed, Object value) {
    Object[] fields = new Object[plan.productArity()];
    for (int i = 0; i < fields.length; i++) {
      fields[i] = i == changed ? value : plan.productElement(i);
    }
    return fields;
  }

  private static scala.collection.immutable.Seq seq(List items) {
    return scala.jdk.javaapi.CollectionConverters.asScala(items).toSeq();
  }

  /** Gathers what one scan needs, and plans it once. */
  static class Builder implements ScanBuilder, SupportsPushDownV2Filters,
      SupportsPushDownRequiredColumns, SupportsPushDownAggregates, SupportsPushDownLimit {
    private final ArcticTable table;
    private final CaseInsensitiveStringMap options;
    private final List hints = new ArrayList();
    private StructType columns;
    /** Null: all rows. */
    private Integer limit;
    /** Null: rows are wanted, or metadata does not say. */
    private Scan answer;

    Builder(ArcticTable table, CaseInsensitiveStringMap options) {
      this.table = table;
      this.options = options;
      this.columns = table.schema;
    }

    public Predicate[] pushPredicates(Predicate[] predicates) {
      for (int i = 0; i < predicates.length; i++) {
        Object hint = encoded(predicates[i], 0);
        if (hint != null) {
          hints.add(hint);
        }
      }
      return predicates;
    }

    public Predicate[] pushedPredicates() {
      return new Predicate[0];
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
        whole[i] = table.schema.apply(required.apply(i).name());
      }
      columns = new StructType(whole);
    }

    /** Spark asks only where no filter is left, and first whether the answer would be whole. */
    public boolean supportCompletePushDown(Aggregation aggregation) {
      return pushAggregation(aggregation);
    }

    public boolean pushAggregation(Aggregation aggregation) {
      if (answer == null && hints.isEmpty()) {
        answer = KnownRow.of(table, options, aggregation);
      }
      return answer != null;
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
      return answer != null ? answer : table.plan(options, columns, hints, limit);
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

  /** The one row of a query that metadata answers. */
  static class KnownRow implements LocalScan {
    private final StructType schema;
    private final Object[] values;

    private KnownRow(StructType schema, Object[] values) {
      this.schema = schema;
      this.values = values;
    }

    /** Returns null where the rows must be read. */
    static KnownRow of(ArcticTable table, CaseInsensitiveStringMap options, Aggregation asked) {
      AggregateFunc[] functions = asked.aggregateExpressions();
      if (table.planner == null || asked.groupByExpressions().length > 0) {
        return null;
      }
      StructField[] fields = new StructField[functions.length];
      ArrayList named = new ArrayList();
      for (int i = 0; i < functions.length; i++) {
        List name = named(functions[i]);
        if (name == null) {
          return null;
        }
        DataType type = name.get(0).equals("min") || name.get(0).equals("max")
            ? table.schema.apply((String) name.get(1)).dataType() : DataTypes.LongType;
        fields[i] = new StructField(functions[i].toString(), type, true, Metadata.empty());
        named.add(name);
      }
      Map pinned = table.pins.ofThisQuery();
      String key = options.asCaseSensitiveMap().toString();
      Map question = new LinkedHashMap();
      question.put("options", options.asCaseSensitiveMap());
      question.put("aggregates", named);
      question.put("pin", pinned.get(key));
      question.put("schema", read(table.schema.json()));
      String answer = asked(table.planner, json(question));
      if (answer == null) {
        return null;
      }
      Map told = read(answer);
      pinned.put(key, told.get("pin"));
      List listed = (List) told.get("values");
      Object[] values = new Object[fields.length];
      for (int i = 0; i < values.length; i++) {
        values[i] = internal(listed.get(i), fields[i].dataType());
      }
      return new KnownRow(new StructType(fields), values);
    }

    /** Returns its kind and its column; null: none of ours. */
    private static List named(AggregateFunc function) {
      String kind = function instanceof Min ? "min" : function instanceof Max ? "max"
          : function instanceof Count && !((Count) function).isDistinct() ? "count" : null;
      if (function instanceof CountStar) {
        return Collections.singletonList("count(*)");
      }
      if (kind == null || !(function.children()[0] instanceof NamedReference)) {
        return null;
      }
      String[] names = ((NamedReference) function.children()[0]).fieldNames();
      return names.length == 1 ? java.util.Arrays.asList(new Object[] {kind, names[0]}) : null;
    }

    private static Object internal(Object value, DataType type) {
      if (value == null) {
        return null;
      }
      if (type instanceof DecimalType) {
        DecimalType decimal = (DecimalType) type;
        return Decimal.apply(new java.math.BigDecimal((String) value), decimal.precision(),
            decimal.scale());
      }
      long number = ((Number) value).longValue();
      boolean isShort = type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType);
      return isShort ? (Object) Integer.valueOf(Math.toIntExact(number)) : (Object) Long.valueOf(number);
    }

    public StructType readSchema() {
      return schema;
    }

    public InternalRow[] rows() {
      return new InternalRow[] {new GenericInternalRow(values)};
    }

    public String description() {
      return "(Arctic) from metadata: " + java.util.Arrays.toString(schema.fieldNames());
    }
  }

  /** Spark's Python scan, which equals another of the same relation that asks for the same. */
  static class OwnScan implements Scan, Batch, SupportsReportStatistics {
    private final Scan scan;
    private final Batch batch;
    private final ArcticTable table;
    private final String asked;
    private final String hints;
    /** What Spark can read itself; null: nothing. */
    private final ParquetFiles files;
    /** Whether it does. */
    private final boolean leavesFiles;
    private final Estimate estimate;

    OwnScan(Scan scan, ArcticTable table, String asked, String hints, Estimate estimate,
        ParquetFiles files, boolean leavesFiles) {
      this.scan = scan;
      this.estimate = estimate;
      this.files = files;
      this.leavesFiles = leavesFiles;
      this.batch = scan.toBatch();
      this.table = table;
      this.asked = asked;
      this.hints = hints;
    }

    public StructType readSchema() {
      return scan.readSchema();
    }

    public Batch toBatch() {
      return this;
    }

    public InputPartition[] planInputPartitions() {
      InputPartition[] all = batch.planInputPartitions();
      return leavesFiles ? (InputPartition[]) java.util.Arrays.copyOf(all, files.merged) : all;
    }

    /** Returns the relation of this scan with a scan that does not read these files. */
    LogicalPlan leavingFiles(DataSourceV2ScanRelation relation) {
      return (LogicalPlan) relation.makeCopy(fieldsWith(relation, 1,
          new OwnScan(scan, table, asked, hints, estimate, files, true)));
    }

    public PartitionReaderFactory createReaderFactory() {
      return batch.createReaderFactory();
    }

    public Statistics estimateStatistics() {
      return estimate;
    }

    public CustomMetric[] supportedCustomMetrics() {
      return scan.supportedCustomMetrics();
    }

    public String description() {
      return "(Arctic) hints: " + hints;
    }

    public boolean equals(Object other) {
      return other instanceof OwnScan && ((OwnScan) other).table == table
          && ((OwnScan) other).leavesFiles == leavesFiles
          && ((OwnScan) other).asked.equals(asked);
    }

    public int hashCode() {
      return asked.hashCode();
    }
  }

  /**
   * Returns a predicate as nested lists, or null when some part of it has no such form.
   *
   * A chain of ANDs or ORs, which Spark has one inside the other, is one list: neither JSON nor
   * Python goes down a thousand levels.
   */
  static Object encoded(Predicate predicate, int depth) {
    if (depth > MAX_DEPTH) {
      return null;
    }
    String name = predicate.name();
    boolean joins = name.equals("AND") || name.equals("OR");
    ArrayList parts = new ArrayList();
    parts.add(name);
    ArrayList waiting = new ArrayList();
    addReversed(waiting, predicate.children());
    while (!waiting.isEmpty()) {
      Expression child = (Expression) waiting.remove(waiting.size() - 1);
      if (joins && child instanceof Predicate && ((Predicate) child).name().equals(name)) {
        addReversed(waiting, ((Predicate) child).children());
        continue;
      }
      Object part = operand(child, depth + 1);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return parts;
  }

  private static void addReversed(ArrayList waiting, Expression[] children) {
    for (int i = children.length - 1; i >= 0; i--) {
      waiting.add(children[i]);
    }
  }

  private static Object operand(Expression expression, int depth) {
    if (expression instanceof Predicate) {
      return encoded((Predicate) expression, depth);
    }
    if (expression instanceof NamedReference) {
      String[] names = ((NamedReference) expression).fieldNames();
      return names.length == 1 ? Collections.singletonMap("column", names[0]) : null;
    }
    if (expression instanceof Literal) {
      Literal literal = (Literal) expression;
      return literal.value() == null ? null : value(literal.value(), literal.dataType());
    }
    return null;
  }

  /** Values are Spark's internal ones, which are Iceberg's too: days, microseconds, in UTC. */
  private static Object value(Object value, DataType type) {
    if (type instanceof DecimalType) {
      return Collections.singletonMap("decimal", value.toString());
    }
    if (type.equals(DataTypes.BinaryType)) {
      return Collections.singletonMap("binary", Base64.getEncoder().encodeToString((byte[]) value));
    }
    if (type.equals(DataTypes.StringType)) {
      // Of another type with a collation, under which other texts are equal too.
      String text = value.toString();
      return UTF8String.fromString(text).equals(value)
          ? Collections.singletonMap("value", text) : null;
    }
    boolean exact = type.equals(DataTypes.BooleanType) || type.equals(DataTypes.IntegerType)
        || type.equals(DataTypes.LongType) || type.equals(DataTypes.DateType)
        || type.equals(DataTypes.TimestampType) || type.equals(DataTypes.TimestampNTZType);
    return exact ? Collections.singletonMap("value", value) : null;
  }
}
