package arctic.spark;

import java.util.ArrayList;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * Has files read by Spark's own Parquet scan, beside the Python scan of those it cannot read.
 *
 * Runs when every scan is planned: the two are of one state of the table, and together hold each
 * data file once. A scan that this rule does not come by reads these files too.
 */
public final class ReadWithSpark extends Trees {
  private ReadWithSpark() {}

  /** Gives a session the rule, once; a newSession() too, which has the other rules of its first. */
  static void install(SparkSession session) {
    ExperimentalMethods methods = session.experimental();
    scala.collection.immutable.Seq rules = methods.extraOptimizations();
    for (int i = 0; i < rules.length(); i++) {
      if (rules.apply(i) instanceof ReadWithSpark) {
        return;
      }
    }
    methods.extraOptimizations_$eq(
        (scala.collection.immutable.Seq) rules.appended(new ReadWithSpark()));
    if (session.conf().getOption(ParquetFiles.WANTED).isEmpty()) {
      session.conf().set(ParquetFiles.WANTED, "true");
    }
  }

  public String ruleName() {
    return "arctic.spark.ReadWithSpark";
  }

  public LogicalPlan inPlaceOf(LogicalPlan node) {
    if (node instanceof DeleteFromTable) {
      return node;   // of all rows: it names a table, and reads none
    }
    if (node instanceof Filter && hasFiles(((Filter) node).child())) {
      Filter filter = (Filter) node;
      return rows((DataSourceV2ScanRelation) filter.child(), filter.condition());
    }
    return hasFiles(node) ? rows((DataSourceV2ScanRelation) node, null) : null;
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
  private static LogicalPlan rows(DataSourceV2ScanRelation relation, Expression condition) {
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
    LogicalPlan rows = new Union(Trees.seq(parts), false, false);
    return kept ? where(rows, condition) : rows;
  }

  /** Writers leave NaN out of a file's bounds, by which Spark would then leave out its row. */
  private static boolean comparesFloats(Expression expression) {
    DataType type = expression.dataType();
    if (type.equals(DataTypes.DoubleType) || type.equals(DataTypes.FloatType)) {
      return true;
    }
    scala.collection.immutable.Seq children = expression.children();
    for (int i = 0; i < children.length(); i++) {
      if (comparesFloats((Expression) children.apply(i))) {
        return true;
      }
    }
    return false;
  }

  private static LogicalPlan where(LogicalPlan plan, Expression condition) {
    return condition == null ? plan : new Filter(condition, plan);
  }
}
