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
import java.util.WeakHashMap;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.Literal;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.sources.Filter;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
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
  private final PythonDataSourceV2 source;
  private final StructType schema;

  private final Pins pins;

  private ArcticTable(PythonDataSourceV2 source, PythonTable table, Pins pins) {
    super(source, table.name(), table.schema());
    this.source = source;
    this.schema = table.schema();
    this.pins = pins;
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
  private Scan plan(CaseInsensitiveStringMap options, StructType columns, List hints) {
    Map pinned = pins.ofThisQuery();
    String table = options.asCaseSensitiveMap().toString();
    Map question = new LinkedHashMap();
    question.put("hints", hints);
    question.put("parallelism", Integer.valueOf(SparkContext.getOrCreate().defaultParallelism()));
    question.put("pin", pinned.get(table));
    PythonDataSourceReadInfo info = source.source().createReadInfoInPython(
        source.getOrCreateDataSourceInPython(name(), options, scala.Option.apply(schema)),
        asking(columns, json(question)), false);
    String pin = pinIn((byte[]) info.partitions().apply(0));
    pinned.put(table, pin);
    PythonDataSourceV2 own = named(name());
    own.setReadInfo(new PythonDataSourceReadInfo(
        info.func(), (scala.collection.immutable.Seq) info.partitions().tail()));
    Scan scan = new PythonScan(own, name(), columns, options, new Filter[0]);
    return new OwnScan(scan, this, columns.json() + json(hints) + pin, json(hints));
  }

  private static StructType asking(StructType columns, String question) {
    StructField first = columns.apply(0);
    StructField[] fields = (StructField[]) columns.fields().clone();
    fields[0] = new StructField(first.name(), first.dataType(), first.nullable(),
        new MetadataBuilder().putString("arctic.question", question).build());
    return new StructType(fields);
  }

  /** The first partition is no partition: a pickled text, which says what state was pinned. */
  private static String pinIn(byte[] pickled) {
    String text = new String(pickled, StandardCharsets.ISO_8859_1);
    return text.substring(text.indexOf("<pin>") + 5, text.indexOf("</pin>"));
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

    public Install(String format) {
      this.rule = new OwnScans(format);
    }

    public Object apply(Object session) {
      return rule;
    }
  }

  /** Puts an ArcticTable where a query reads a Python table of our format. */
  public static class OwnScans extends Rule {
    private final String format;
    private final Pins pins = new Pins();
    // The scans of a self-join are recognised as equal by sharing their table.
    private final Map tables = new WeakHashMap();

    OwnScans(String format) {
      this.format = format;
    }

    public String ruleName() {
      return "arctic.spark.OwnScans";
    }

    public TreeNode apply(TreeNode plan) {
      return rewritten((LogicalPlan) plan);
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
      return (LogicalPlan) plan.withNewChildren(
          scala.jdk.javaapi.CollectionConverters.asScala(changed).toSeq());
    }

    private LogicalPlan swapped(DataSourceV2Relation relation) {
      if (relation.table().getClass() != PythonTable.class
          || !relation.table().name().equalsIgnoreCase(format)) {
        return relation;
      }
      // copy() has another arity in each Spark version; the table is the first field in all.
      Object[] fields = new Object[relation.productArity()];
      for (int i = 0; i < fields.length; i++) {
        fields[i] = relation.productElement(i);
      }
      fields[0] = own((PythonTable) relation.table());
      return (LogicalPlan) relation.makeCopy(fields);
    }

    private synchronized Object own(PythonTable table) {
      Object known = tables.get(table);
      if (known == null) {
        known = new ArcticTable(named(table.name()), table, pins);
        tables.put(table, known);
      }
      return known;
    }
  }

  /** Gathers what one scan needs, and plans it once. */
  static class Builder implements ScanBuilder, SupportsPushDownV2Filters,
      SupportsPushDownRequiredColumns {
    private final ArcticTable table;
    private final CaseInsensitiveStringMap options;
    private final List hints = new ArrayList();
    private StructType columns;

    Builder(ArcticTable table, CaseInsensitiveStringMap options) {
      this.table = table;
      this.options = options;
      this.columns = table.schema;
    }

    public Predicate[] pushPredicates(Predicate[] predicates) {
      for (int i = 0; i < predicates.length; i++) {
        Object hint = encoded(predicates[i]);
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

    public Scan build() {
      return table.plan(options, columns, hints);
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

  /** Spark's Python scan, which equals another of the same relation that asks for the same. */
  static class OwnScan implements Scan, Batch {
    private final Scan scan;
    private final Batch batch;
    private final ArcticTable table;
    private final String asked;
    private final String hints;

    OwnScan(Scan scan, ArcticTable table, String asked, String hints) {
      this.scan = scan;
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
      return batch.planInputPartitions();
    }

    public PartitionReaderFactory createReaderFactory() {
      return batch.createReaderFactory();
    }

    public CustomMetric[] supportedCustomMetrics() {
      return scan.supportedCustomMetrics();
    }

    public String description() {
      return "(Arctic) hints: " + hints;
    }

    public boolean equals(Object other) {
      return other instanceof OwnScan && ((OwnScan) other).table == table
          && ((OwnScan) other).asked.equals(asked);
    }

    public int hashCode() {
      return asked.hashCode();
    }
  }

  /** Returns a predicate as nested lists, or null when some part of it has no such form. */
  static Object encoded(Predicate predicate) {
    ArrayList parts = new ArrayList();
    parts.add(predicate.name());
    Expression[] children = predicate.children();
    for (int i = 0; i < children.length; i++) {
      Object part = operand(children[i]);
      if (part == null) {
        return null;
      }
      parts.add(part);
    }
    return parts;
  }

  private static Object operand(Expression expression) {
    if (expression instanceof Predicate) {
      return encoded((Predicate) expression);
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
