package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.ProjectExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * Plans reads of all live rows by counting them, where whole files divide evenly among cores.
 *
 * A filter of the query may have Spark's reader leave rows out, whose places are read then.
 */
public final class LiveReads extends SparkStrategy {
  private static final int RELATION_FIELD = 0;
  private static final int OUTPUT_FIELD = 1;

  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    ArrayList planned = new ArrayList();
    Filter filter = filter(plan);
    if (filter != null && plan instanceof Project) {
      planned.add(new ProjectExec(
          ((Project) plan).projectList(), planLater((LogicalPlan) plan.children().apply(0))));
    } else if (filter != null) {
      planned.add(counted(filter));
    }
    return Trees.seq(planned);
  }

  /** Returns the filter of dead rows below nothing but projections; null: this is something else. */
  private static Filter filter(LogicalPlan plan) {
    LogicalPlan node = plan;
    while (node instanceof Project) {
      node = (LogicalPlan) node.children().apply(0);
    }
    if (!(node instanceof Filter) || !(((Filter) node).condition() instanceof IsAlive)
        || !(((Filter) node).child() instanceof LogicalRelation)) {
      return null;
    }
    HadoopFsRelation files =
        (HadoopFsRelation) ((LogicalRelation) ((Filter) node).child()).relation();
    ParquetFiles.Index index = (ParquetFiles.Index) files.location();
    return index.groups() == null && index.dead().divideEvenly() ? (Filter) node : null;
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
