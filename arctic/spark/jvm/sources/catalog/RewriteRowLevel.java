package arctic.spark.catalog;

import arctic.spark.Pins;
import arctic.spark.Trees;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.WriteDelta;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.WriteDeltaProjections;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperation;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** Has the rows of a DELETE, UPDATE or MERGE written by the writer of frames, in one commit. */
public final class RewriteRowLevel extends Rule {
  RewriteRowLevel() {}

  public String ruleName() {
    return "arctic.spark.RewriteRowLevel";
  }

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof WriteDelta) {
      WriteDelta write = (WriteDelta) plan;
      CatalogTable table = tableOf(write.productElement(3));
      return table == null ? plan : rewritten(write, table);
    }
    // Which has a class of its own in Spark 4.3, not known to the older ones.
    boolean merges = plan.getClass().getSimpleName().equals("InsertOnlyMerge");
    if (merges || plan instanceof AppendData) {
      scala.Product fields = (scala.Product) plan;
      CatalogTable table = tableOf(fields.productElement(0));
      if (table == null) {
        return plan;
      }
      DataSourceV2Relation target = (DataSourceV2Relation) fields.productElement(0);
      CommandPlan inserts =
          InsertsOfMerge.of(target, (LogicalPlan) fields.productElement(1), table, merges);
      return inserts == null ? plan : append(target, table, "MERGE", inserts);
    }
    return plan;
  }

  /** Returns null where a relation is not of a table of ours, or was rewritten before. */
  private static CatalogTable tableOf(Object relation) {
    if (!(relation instanceof DataSourceV2Relation)) {
      return null;
    }
    Table table = ((DataSourceV2Relation) relation).table();
    return table instanceof CatalogTable && !(table instanceof RowLevelTarget)
        ? (CatalogTable) table : null;
  }

  private static LogicalPlan rewritten(WriteDelta write, CatalogTable table) {
    if (command(write) == RowLevelOperation.Command.DELETE) {
      LogicalPlan whole = WholeDelete.of((Expression) write.productElement(1),
          (DataSourceV2Relation) write.productElement(3), table);
      if (whole != null) {
        return whole;
      }
    }
    WriteDeltaProjections projections = write.projections();
    LogicalPlan query = (LogicalPlan) write.productElement(2);
    // That of a MERGE speaks of its source too.
    Expression condition = (Expression) write.productElement(1);
    List where = command(write) == RowLevelOperation.Command.MERGE ? null
        : CommandReads.where(condition, query);
    boolean exact = where != null && CommandReads.isExact(condition);
    ProjectingInternalRow key = (ProjectingInternalRow) projections.rowIdProjection();
    boolean whole = projections.rowProjection().isDefined();
    if (table.key().length == 0) {
      ProjectingInternalRow stays =
          whole ? (ProjectingInternalRow) projections.rowProjection().get() : null;
      CommandPlan places = KeylessRows.of(query, stays, key, table).readsWhere(where);
      if (query instanceof MergeRows) {
        places.seeks(SoughtRows.of(query, table));
      }
      return append((DataSourceV2Relation) write.productElement(3), table,
          command(write).toString(), places);
    }
    ProjectingInternalRow row =
        whole ? (ProjectingInternalRow) projections.rowProjection().get() : key;
    DataSourceV2Relation target = (DataSourceV2Relation) write.productElement(3);
    CommandRows rows = new CommandRows(query, row, key, table);
    if (table.ordering().length > 0) {
      OrderedRows.check(command(write), query, rows, row, table);
    }
    CommandPlan plan;
    if (!whole) {
      CommandRows telling = rows.telling(target);
      plan = telling == null ? new CommandPlan(rows.keys(), CommandPlan.DELETE)
          : new CommandPlan(telling.keys(), CommandPlan.DELETE).placed();
      plan.readsWhere(where).sets(exact ? new LinkedHashMap() : null);
    } else if (query instanceof MergeRows) {
      plan = MergePlan.of((MergeRows) query, rows, row, target, table);
    } else {
      // Of a MERGE that looks otherwise nothing is known.
      boolean moves = rows.mayMove();
      boolean inserts = command(write) == RowLevelOperation.Command.MERGE;
      plan = moves || inserts
          ? new CommandPlan(rows.actions(moves, false), CommandPlan.ACTIONS).once("target").checked()
          : updates(query, rows, row, target, table).once("target")
              .sets(exact ? SetValues.of(query, row, table) : null);
      plan.readsWhere(where);
    }
    return append(target, table, command(write).toString(), plan);
  }

  /** Returns what an UPDATE makes of rows that keep their keys. */
  private static CommandPlan updates(LogicalPlan query, CommandRows rows, ProjectingInternalRow row,
      DataSourceV2Relation target, CatalogTable table) {
    CommandRows telling =
        StoredPlaces.moves(query, row, target, table) ? rows.telling(target) : rows;
    return telling == null ? new CommandPlan(rows.rows(), CommandPlan.UPSERT)
        : new CommandPlan(telling.rows(), CommandPlan.UPSERT).placed();
  }

  private static RowLevelOperation.Command command(WriteDelta write) {
    Table table = ((DataSourceV2Relation) write.productElement(0)).table();
    return ((RowLevelOperationTable) table).operation().command();
  }

  private static LogicalPlan append(DataSourceV2Relation target, CatalogTable table,
      String command, CommandPlan plan) {
    // Scans of subqueries are planned by now, perhaps of a state that is not the newest any more.
    CaseInsensitiveStringMap own = table.with(new CaseInsensitiveStringMap(new HashMap()));
    Map pinned = Pins.SHARED.ofThisQuery();
    List seen = Pins.newest(pinned, own);
    plan.of(command, seen, Uncached.takes(plan.rows, table), !pinned.isEmpty());
    SoughtRows sought = plan.sought();
    return append(target, new RowLevelTarget(table, plan),
        sought == null ? plan.rows : sought.narrowed(plan.rows));
  }

  /** Its fields are 6 in Spark 4.1, later there is one more; the plan is not planned twice. */
  private static LogicalPlan append(DataSourceV2Relation target, Table table, LogicalPlan rows) {
    java.lang.reflect.Constructor made = AppendData.class.getConstructors()[0];
    Object[] fields = new Object[made.getParameterTypes().length];
    int last = fields.length - 1;
    fields[0] = Trees.with(target, 0, table);
    fields[1] = LocalRelation$.MODULE$.apply(rows.schema());
    fields[2] = Trees.map(new LinkedHashMap());
    for (int i = 3; i < last - 1; i++) {
      fields[i] = Boolean.valueOf(i == 3);   // byName; withSchemaEvolution
    }
    fields[last - 1] = scala.Option.empty();
    fields[last] = scala.Option.apply(rows);   // what a V1Write is given
    try {
      return (LogicalPlan) made.newInstance(fields);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Builds the rule; handed to SparkSessionExtensions.injectOptimizerRule. */
  public static final class Install extends scala.runtime.AbstractFunction1 {
    private final RewriteRowLevel rule = new RewriteRowLevel();

    public Object apply(Object session) {
      return rule;
    }
  }
}
