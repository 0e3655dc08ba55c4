package arctic.spark.catalog;

import arctic.spark.Hints;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Strategy$;

/**
 * What a command looks at in its table: whoever commits beside it is in its way only there.
 *
 * Where some part of it cannot be said, less is said: a row that it does not look at may be taken
 * for one, and never the other way round.
 */
final class CommandReads {
  private CommandReads() {}

  /** Returns what rows of a DELETE or UPDATE fulfil as nested lists; null: it may look at others. */
  static List where(Expression condition, LogicalPlan query) {
    if (SubqueryExpression.hasSubquery(condition) || leaves(query) != 1) {
      return null;
    }
    List found = new ArrayList();
    take(condition, found);
    return found;
  }

  /**
   * Returns whether each row of the source changes, deletes or inserts the row of its key, so that
   * no other row of the table decides anything. One that is inserted under another key is decided
   * by a key that is not written.
   */
  static boolean isWritten(MergeRows merge, KeyJoin join, ProjectingInternalRow row,
      CatalogTable table) {
    return join != null && merge.notMatchedBySourceInstructions().isEmpty()
        && always(merge.matchedInstructions(), MergePlan.UPDATE, MergePlan.DELETE)
        && always(merge.notMatchedInstructions(), MergePlan.INSERT, MergePlan.INSERT)
        && MergePlan.keeps(merge.notMatchedInstructions(), MergePlan.INSERT, true, join, row, table)
        && leaves(merge) > 0 && !BlindMerge.reads(join.source, table);
  }

  /** Returns how many relations a plan is made of; -1: perhaps of more, in a subquery. */
  static int leaves(LogicalPlan plan) {
    scala.collection.immutable.Seq expressions = plan.expressions();
    for (int i = 0; i < expressions.length(); i++) {
      if (SubqueryExpression.hasSubquery((Expression) expressions.apply(i))) {
        return -1;
      }
    }
    int count = plan.children().isEmpty() ? 1 : 0;
    for (int i = 0; i < plan.children().length(); i++) {
      int below = leaves((LogicalPlan) plan.children().apply(i));
      if (below < 0) {
        return -1;
      }
      count += below;
    }
    return count;
  }

  /** Returns whether nested lists say all of a condition. */
  static boolean isExact(Expression condition) {
    return take(condition, new ArrayList());
  }

  /** Returns a condition as nested lists, or what of its parts can be said so; null: nothing. */
  static List hints(Expression condition) {
    List found = new ArrayList();
    take(condition, found);
    return found.isEmpty() ? null : found;
  }

  private static boolean take(Expression condition, List found) {
    if (condition instanceof And) {
      boolean left = take(((And) condition).left(), found);
      return take(((And) condition).right(), found) && left;
    }
    scala.Option told = condition.deterministic()
        ? DataSourceV2Strategy$.MODULE$.translateFilterV2(condition) : scala.Option.empty();
    List hint = told.isDefined() ? Hints.of((Predicate) told.get()) : null;
    return hint != null && found.add(hint);
  }

  /** Returns whether the last clause takes every row, and does one of two things. */
  private static boolean always(scala.collection.immutable.Seq clauses, int one, int other) {
    if (clauses.isEmpty()) {
      return false;
    }
    MergeRows.Instruction last = (MergeRows.Instruction) clauses.apply(clauses.length() - 1);
    Object value = last.condition() instanceof Literal ? ((Literal) last.condition()).value() : null;
    int kind = MergePlan.kindOf(last);
    return Boolean.TRUE.equals(value) && (kind == one || kind == other);
  }
}
