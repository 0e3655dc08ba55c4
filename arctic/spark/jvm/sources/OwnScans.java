package arctic.spark;

import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;

/** Puts an ArcticTable where a query reads a Python table of our format. */
public final class OwnScans extends Trees {
  private static final int TABLE_FIELD = 0;
  private final String format;
  /** Why Spark's own catalog has no table of this format. */
  private final String noEntries;
  // The scans of a self-join are recognised as equal by sharing their table.
  private final Map tables = new WeakHashMap();

  OwnScans(String format, String noEntries) {
    this.format = format;
    this.noEntries = noEntries;
  }

  public String ruleName() {
    return "arctic.spark.OwnScans";
  }

  public TreeNode apply(TreeNode plan) {
    return rewritten(Commands.settled((LogicalPlan) plan, format, Callback.AT_USE, noEntries));
  }

  public LogicalPlan inPlaceOf(LogicalPlan node) {
    if (!(node instanceof DataSourceV2Relation)) {
      return null;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) node;
    if (relation.table().getClass() != PythonTable.class
        || !relation.table().name().equalsIgnoreCase(format)) {
      return relation;
    }
    if (relation.identifier().isDefined()) {
      throw Commands.refused(relation.identifier().get().toString(), noEntries);
    }
    return Trees.with(relation, TABLE_FIELD, own((PythonTable) relation.table()));
  }

  private synchronized Object own(PythonTable table) {
    Object known = tables.get(table);
    if (known == null) {
      known = ArcticTable.of(table, Pins.SHARED, Callback.AT_USE);
      tables.put(table, known);
    }
    return known;
  }

  /** Builds the rule; handed to SparkSessionExtensions.injectOptimizerRule. */
  public static final class Install extends scala.runtime.AbstractFunction1 {
    // Spark asks for a rule more than once in a query, and the rule remembers.
    private final OwnScans rule;

    public Install(String format, String noEntries) {
      this.rule = new OwnScans(format, noEntries);
    }

    public Object apply(Object session) {
      ReadWithSpark.install((SparkSession) session);
      return rule;
    }
  }
}
