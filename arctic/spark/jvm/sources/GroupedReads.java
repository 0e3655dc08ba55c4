package arctic.spark;

import java.util.ArrayList;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.FileSourceScanExec;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.FileSourceStrategy$;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.BatchScanExec;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy;
import org.apache.spark.sql.execution.joins.SortMergeJoinExec;

/** Plans scans that were asked for groups as Spark does, and says what groups they have. */
public final class GroupedReads extends SparkStrategy {
  public scala.collection.immutable.Seq apply(LogicalPlan plan) {
    ArrayList planned = new ArrayList();
    if (plan instanceof Union) {
      if (isOfGroups((Union) plan)) {
        ArrayList parts = new ArrayList();
        for (int i = 0; i < plan.children().length(); i++) {
          parts.add(planLater((LogicalPlan) plan.children().apply(i)));
        }
        planned.add(new GroupedUnion(Trees.seq(parts), plan.output()));
      }
      return Trees.seq(planned);
    }
    if (plan instanceof Join) {
      return hasGroups((LogicalPlan) plan.children().apply(0))
          && hasGroups((LogicalPlan) plan.children().apply(1))
          ? joined(session().sessionState().planner().JoinSelection().apply(plan))
          : Trees.seq(planned);
    }
    KeyGroupsAsked asked = asked(plan);
    if (asked == null) {
      return Trees.seq(planned);
    }
    scala.collection.immutable.Seq usual = leaf(plan) instanceof LogicalRelation
        ? FileSourceStrategy$.MODULE$.apply(plan) : new DataSourceV2Strategy(session()).apply(plan);
    for (int i = 0; i < usual.length(); i++) {
      planned.add(grouped((SparkPlan) usual.apply(i), asked));
    }
    return Trees.seq(planned);
  }

  /** Columns are united as they are, none of another type. */
  private static boolean isOfGroups(Union union) {
    for (int i = 0; i < union.children().length(); i++) {
      LogicalPlan part = (LogicalPlan) union.children().apply(i);
      if (asked(part) == null) {
        return false;
      }
      for (int place = 0; place < union.output().length(); place++) {
        if (!((Attribute) part.output().apply(place)).dataType().equals(
            ((Attribute) union.output().apply(place)).dataType())) {
          return false;
        }
      }
    }
    return true;
  }

  private static SparkSession session() {
    return (SparkSession) SparkSession.active();
  }

  private static boolean hasGroups(LogicalPlan plan) {
    if (plan.children().isEmpty()) {
      return asked(plan) != null;
    }
    for (int i = 0; i < plan.children().length(); i++) {
      if (hasGroups((LogicalPlan) plan.children().apply(i))) {
        return true;
      }
    }
    return false;
  }

  /** Spark chooses how to join; where it sorts and merges, no shuffle may be needed. */
  private static scala.collection.immutable.Seq joined(scala.collection.immutable.Seq usual) {
    if (usual.length() != 1 || usual.apply(0).getClass() != SortMergeJoinExec.class) {
      return usual;
    }
    SortMergeJoinExec join = (SortMergeJoinExec) usual.apply(0);
    ArrayList planned = new ArrayList();
    planned.add(new GroupedJoin(join.leftKeys(), join.rightKeys(), join.joinType(),
        join.condition(), join.left(), join.right()));
    return Trees.seq(planned);
  }

  private static LogicalPlan leaf(LogicalPlan plan) {
    LogicalPlan leaf = plan;
    while (leaf instanceof Project || leaf instanceof Filter) {
      leaf = (LogicalPlan) leaf.children().apply(0);
    }
    return leaf;
  }

  /** Returns null for what is not a scan, or was asked for none. */
  private static KeyGroupsAsked asked(LogicalPlan plan) {
    LogicalPlan leaf = leaf(plan);
    if (leaf instanceof DataSourceV2ScanRelation
        && ((DataSourceV2ScanRelation) leaf).scan() instanceof OwnScan) {
      OwnScan scan = (OwnScan) ((DataSourceV2ScanRelation) leaf).scan();
      return scan.files == null || scan.leavesFiles ? scan.groups : null;
    }
    if (leaf instanceof LogicalRelation
        && ((LogicalRelation) leaf).relation() instanceof HadoopFsRelation) {
      HadoopFsRelation files = (HadoopFsRelation) ((LogicalRelation) leaf).relation();
      return files.location() instanceof ParquetFiles.Index
          ? ((ParquetFiles.Index) files.location()).groups() : null;
    }
    return null;
  }

  private static SparkPlan grouped(SparkPlan plan, KeyGroupsAsked asked) {
    // Where Spark reads row by row its scan makes other rows of them.
    if (plan instanceof BatchScanExec
        || plan instanceof FileSourceScanExec && plan.supportsColumnar()) {
      return new GroupedScan(asked.function, Integer.valueOf(asked.groups), asked.columns, plan);
    }
    ArrayList children = new ArrayList();
    for (int i = 0; i < plan.children().length(); i++) {
      children.add(grouped((SparkPlan) plan.children().apply(i), asked));
    }
    return (SparkPlan) plan.withNewChildren(Trees.seq(children));
  }
}
