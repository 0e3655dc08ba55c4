package arctic.spark;

import java.util.ArrayList;
import java.util.Map;
import org.apache.spark.sql.ExperimentalMethods;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * Has files read by Spark's own Parquet scan, beside the Python scan of those it cannot read.
 *
 * Runs when every scan is planned: the two are of one state of the table, and together hold each
 * data file once. A scan that this rule does not come by reads these files too. Where a join or a
 * grouping of the plan can use it, the scans are planned anew first, in groups of keys.
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
    scala.collection.immutable.Seq strategies = methods.extraStrategies();
    strategies = (scala.collection.immutable.Seq) strategies.appended(new GroupedReads());
    methods.extraStrategies_$eq(
        (scala.collection.immutable.Seq) strategies.appended(new LiveReads()));
    if (session.conf().getOption(ParquetFiles.WANTED).isEmpty()) {
      session.conf().set(ParquetFiles.WANTED, "true");
    }
  }

  public String ruleName() {
    return "arctic.spark.ReadWithSpark";
  }

  public TreeNode apply(TreeNode plan) {
    return rewritten(new Regrouped(WantedGroups.of((LogicalPlan) plan)).rewritten(
        (LogicalPlan) plan));
  }

  /** Puts scans in groups where they are wanted so. */
  private static final class Regrouped extends Trees {
    private final Map wanted;

    Regrouped(Map wanted) {
      this.wanted = wanted;
    }

    public String ruleName() {
      return "arctic.spark.ReadWithSpark.Regrouped";
    }

    public LogicalPlan inPlaceOf(LogicalPlan node) {
      if (wanted.isEmpty() || node instanceof Filter && isKept(((Filter) node).condition())
          && node.children().apply(0) instanceof DataSourceV2ScanRelation) {
        return node;
      }
      if (!(node instanceof DataSourceV2ScanRelation)) {
        return null;
      }
      DataSourceV2ScanRelation relation = (DataSourceV2ScanRelation) node;
      KeyGroupsAsked groups = WantedGroups.of(wanted, relation);
      if (groups == null) {
        return relation;
      }
      DataSourceV2ScanRelation grouped = ((OwnScan) relation.scan()).grouped(relation, groups);
      return grouped == null ? relation : grouped;
    }
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
    boolean kept = isKept(condition);
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

  /** Parts of a union would each draw the same random values, and number rows from the first on. */
  static boolean isKept(Expression condition) {
    return condition != null && !condition.deterministic();
  }

  private static LogicalPlan where(LogicalPlan plan, Expression condition) {
    return condition == null ? plan : new Filter(condition, plan);
  }
}
