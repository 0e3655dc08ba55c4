package arctic.spark;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.FilterExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Plans reads of all live rows by counting them, where whole files divide evenly among cores.
 *
 * A filter of the query that Spark's reader is given may have it leave rows out: places are read then.
 */
public final class LiveReads extends SparkStrategy {
  private static final int RELATION_FIELD = 0;
  private static final int OUTPUT_FIELD = 1;

  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    ArrayList planned = new ArrayList();
    Filter live = live(plan);
    if (live == null) {
      return Trees.seq(planned);
    }
    if (plan == live) {
      planned.add(counted(live));
      return Trees.seq(planned);
    }
    SparkPlan below = planLater((LogicalPlan) plan.children().apply(0));
    planned.add(plan instanceof Project
        ? (SparkPlan) new ProjectExec(((Project) plan).projectList(), below)
        : new FilterExec(((Filter) plan).condition(), below));
    return Trees.seq(planned);
  }

  /** Returns the filter of dead rows if all rows that it is given are read; null: perhaps not. */
  private static Filter live(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project || node instanceof Filter && !isLive((Filter) node)
        && !reachesReader(((Filter) node).condition())) {
      node = (LogicalPlan) node.children().apply(0);
    }
    if (!(node instanceof Filter) || !isLive((Filter) node)
        || !(((Filter) node).child() instanceof LogicalRelation)) {
      return null;
    }
    Filter live = (Filter) node;
    HadoopFsRelation files =
        (HadoopFsRelation) ((LogicalRelation) live.child()).relation();
    ParquetFiles.Index index = (ParquetFiles.Index) files.location();
    return index.groups() == null && index.dead().divideEvenly() ? live : null;
  }

  private static boolean isLive(Filter filter) {
    return filter.condition() instanceof IsAlive;
  }

  /** Says whether some part of a condition is one that Spark gives to its reader of Parquet. */
  private static boolean reachesReader(Expression condition) {
    if (condition instanceof And) {
      return reachesReader(((And) condition).left()) || reachesReader(((And) condition).right());
    }
    // What a subquery returns is known when the query runs.
    return !comparesFloats(condition) && (SubqueryExpression.hasSubquery(condition)
        || DataSourceStrategy$.MODULE$.translateFilter(condition, true).isDefined());
  }

  /** Of such a filter FloatsUnfiltered tells nobody. */
  private static boolean comparesFloats(Expression expression) {
    if (FloatsUnfiltered.isFloat(expression.dataType())) {
      return true;
    }
    for (int i = 0; i < expression.children().length(); i++) {
      if (comparesFloats((Expression) expression.children().apply(i))) {
        return true;
      }
    }
    return false;
  }

  private static SparkPlan counted(Filter filter) {
    LogicalRelation places = (LogicalRelation) filter.child();
    HadoopFsRelation files = (HadoopFsRelation) places.relation();
    ParquetFiles.Index index = (ParquetFiles.Index) files.location();
    int columns = files.dataSchema().length() - 1;
    ArrayList output = new ArrayList();
    for (int i = 0; i < places.output().length(); i++) {
      if (i != columns) { // the place of the row
        output.add(places.output().apply(i));
      }
    }
    LogicalPlan whole = Trees.with(Trees.with(places, OUTPUT_FIELD, Trees.seq(output)),
        RELATION_FIELD, ParquetFiles.whole(files));
    SparkPlan scan = (SparkPlan) FileSourceStrategy$.MODULE$.apply(whole).head();
    SparkPlan byPlace = (SparkPlan) FileSourceStrategy$.MODULE$.apply(filter).head();
    return new LiveRows(new IsNextAlive(index.dead(), (Expression) output.get(columns),
        (Expression) output.get(columns + 1)), scan, byPlace);
  }
}
