package arctic.spark.catalog;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/** A MERGE that has nothing but WHEN NOT MATCHED, of which Spark makes an anti join. */
final class InsertsOfMerge {
  private InsertsOfMerge() {}

  /** Returns null where an append is not of that kind, and not known to be. */
  static CommandPlan of(DataSourceV2Relation target, LogicalPlan query, CatalogTable table,
      boolean merges) {
    // With ON false nothing of the join is left; only Spark 4.3 says then that it was a MERGE.
    if (!merges && !reads(query, target)) {
      return null;
    }
    LogicalPlan below = query instanceof MergeRows ? ((MergeRows) query).child() : query;
    Join join = KeyJoin.joinOf(below);
    SoughtRows sought = SoughtRows.of(query, table);
    if (table.key().length == 0) {
      return KeylessRows.inserts(target, query).seeks(sought);
    }
    boolean exact = join != null && join.joinType().toString().equals("LeftAnti")
        && reads(join.right(), target);
    scala.collection.immutable.Seq columns = target.output();
    List names = new ArrayList();
    List values = new ArrayList();
    for (int i = 0; i < columns.length(); i++) {
      names.add(((Attribute) columns.apply(i)).name());
      values.add(query.output().apply(i));
    }
    values.add(CommandRows.text("I"));
    CommandPlan plan = new CommandPlan(CommandRows.ordered(names, values, query, table),
        CommandPlan.ACTIONS).once("target");
    if (!isKeyOfSource(query, exact ? KeyJoin.of(below, table) : null, names, table)) {
      return plan.checked().seeks(sought);
    }
    return plan.placed().seeks(sought);
  }

  /**
   * Only a MERGE has its target in its own source: another relation has columns of its own. What
   * Spark has cached of the target, which may be old, stands there with the target's columns.
   */
  private static boolean reads(LogicalPlan plan, DataSourceV2Relation target) {
    if (plan.children().isEmpty()) {
      Attribute first = (Attribute) target.output().apply(0);
      return plan.outputSet().contains(first);
    }
    for (int i = 0; i < plan.children().length(); i++) {
      if (reads((LogicalPlan) plan.children().apply(i), target)) {
        return true;
      }
    }
    return false;
  }

  private static boolean isKeyOfSource(LogicalPlan query, KeyJoin join, List names,
      CatalogTable table) {
    if (join == null) {
      return false;
    }
    String[] key = table.key();
    for (int k = 0; k < key.length; k++) {
      int place = names.indexOf(key[k]);
      if (query instanceof Project) {
        Object value = ((Project) query).projectList().apply(place);
        Expression plain = value instanceof Alias ? ((Alias) value).child() : (Expression) value;
        if (!join.of(key[k]).semanticEquals(KeyJoin.plain(plain))) {
          return false;
        }
        continue;
      }
      if (!(query instanceof MergeRows)) {
        return false;
      }
      scala.collection.immutable.Seq all = ((MergeRows) query).notMatchedInstructions();
      for (int i = 0; i < all.length(); i++) {
        MergeRows.Instruction each = (MergeRows.Instruction) all.apply(i);
        if (each.outputs().length() != 1
            || !join.keeps(MergePlan.value(each, place), key[k], true)) {
          return false;
        }
      }
    }
    return true;
  }
}
