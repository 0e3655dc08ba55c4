package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.V2ScanRelationPushDown$;

/**
 * Has tasks make aggregates of the rows that a filter leaves, where they decide the whole filter.
 *
 * Spark gives a scan its filters before it asks for aggregates, and asks only where no filter is left
 * to itself; a scan that has taken one must keep it, whatever becomes of the aggregates. So they are
 * tried beforehand on a table that takes filters, by Spark's own rule, and the plan goes on with what
 * comes out only where tasks make the aggregates.
 */
public final class FilteredAggregates extends Trees {
  private static final int TABLE_FIELD = 0;

  public String ruleName() {
    return "arctic.spark.FilteredAggregates";
  }

  public LogicalPlan inPlaceOf(LogicalPlan node) {
    if (!(node instanceof Aggregate) || !PartialAggregates.areWanted()) {
      return null;
    }
    LogicalPlan rows = taken((LogicalPlan) node.children().apply(0), false);
    if (rows == null) {
      return null;
    }
    LogicalPlan pushed = (LogicalPlan) V2ScanRelationPushDown$.MODULE$.apply(over(rows, node));
    return areMade(pushed) ? pushed : null;
  }

  /** Returns the rows of a table that takes filters; null: none has one, or they are others. */
  private static LogicalPlan taken(LogicalPlan plan, boolean isFiltered) {
    if (plan instanceof Project || plan instanceof Filter) {
      LogicalPlan rows = taken(
          (LogicalPlan) plan.children().apply(0), isFiltered || plan instanceof Filter);
      return rows == null ? null : over(rows, plan);
    }
    if (!isFiltered || !(plan instanceof DataSourceV2Relation)) {
      return null;
    }
    Object table = ((DataSourceV2Relation) plan).table();
    return table instanceof TakesFilters
        ? Trees.with(plan, TABLE_FIELD, ((TakesFilters) table).takingFilters()) : null;
  }

  private static LogicalPlan over(LogicalPlan rows, LogicalPlan plan) {
    List children = new ArrayList();
    children.add(rows);
    return (LogicalPlan) plan.withNewChildren(Trees.seq(children));
  }

  private static boolean areMade(LogicalPlan plan) {
    LogicalPlan leaf = plan;
    while (leaf.children().length() == 1) {
      leaf = (LogicalPlan) leaf.children().apply(0);
    }
    return leaf instanceof DataSourceV2ScanRelation
        && ((DataSourceV2ScanRelation) leaf).scan() instanceof PartialAggregates;
  }

  /** Builds the rule; handed to SparkSessionExtensions.injectPreCBORule. */
  public static final class Install extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) {
      return new FilteredAggregates();
    }
  }
}
