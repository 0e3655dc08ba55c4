package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.types.DataTypes;

/**
 * A MERGE on equality of the whole key that needs nothing of the stored rows: they are not read.
 *
 * For each row of the source it does the same whether its key is stored or not: the row takes the
 * place of the stored one, or the key is deleted, or nothing happens. A key that the source has
 * twice is refused by the tasks that write, as the join would have done where it is stored.
 */
final class BlindMerge {
  private BlindMerge() {}

  /** Returns null where stored rows have to be looked at. */
  static CommandPlan of(MergeRows merge, KeyJoin join, ProjectingInternalRow row,
      CatalogTable table) {
    scala.collection.immutable.Seq matched = merge.matchedInstructions();
    scala.collection.immutable.Seq missing = merge.notMatchedInstructions();
    if (!merge.notMatchedBySourceInstructions().isEmpty() || matched.length() == 0
        || matched.length() > 2 || missing.length() > 1) {
      return null;
    }
    MergeRows.Instruction first = (MergeRows.Instruction) matched.apply(0);
    MergeRows.Instruction last = (MergeRows.Instruction) matched.apply(matched.length() - 1);
    CommandPlan plan = null;
    if (missing.length() == 0) {
      boolean alone = matched.length() == 1 && MergePlan.kindOf(first) == MergePlan.DELETE;
      plan = alone ? deletes(first, join, table) : null;
    } else if (MergePlan.kindOf(last) == MergePlan.UPDATE) {
      plan = upserts(matched.length() == 2 ? first : null, last,
          (MergeRows.Instruction) missing.apply(0), join, row, table);
    }
    // What the source reads of the table itself must be of the state that is changed.
    return plan == null || reads(join.source, table) ? plan : plan.blind();
  }

  private static CommandPlan deletes(MergeRows.Instruction delete, KeyJoin join,
      CatalogTable table) {
    if (!isOfSource(delete.condition(), join)) {
      return null;
    }
    List list = new ArrayList();
    String[] key = table.key();
    for (int i = 0; i < key.length; i++) {
      list.add(CommandRows.named(join.of(key[i]), key[i]));
    }
    LogicalPlan rows = new Filter(hasKey(join, table), where(delete.condition(), join.source));
    CommandPlan plan = new CommandPlan(new Project(Trees.seq(list), rows), CommandPlan.DELETE);
    // Spark lets several rows delete the same one where nothing else is done.
    return always(delete.condition()) ? plan : plan.once("source");
  }

  /** An update that is an insert where nothing is stored, perhaps of rows that delete nothing. */
  private static CommandPlan upserts(MergeRows.Instruction delete, MergeRows.Instruction update,
      MergeRows.Instruction insert, KeyJoin join, ProjectingInternalRow row, CatalogTable table) {
    if (MergePlan.kindOf(insert) != MergePlan.INSERT || !isOfSource(update.condition(), join)) {
      return null;
    }
    if (delete == null ? !same(update.condition(), insert.condition())
        : !always(update.condition()) || !isOpposite(delete, insert.condition(), join)) {
      return null;
    }
    List names = CommandRows.names(row);
    List values = new ArrayList();
    for (int i = 0; i < names.size(); i++) {
      Expression updated = MergePlan.value(update, CommandRows.ordinal(row, i));
      Expression inserted = MergePlan.value(insert, CommandRows.ordinal(row, i));
      Expression key = join.of((String) names.get(i));
      if (!updated.semanticEquals(inserted) || !isOfSource(updated, join)
          || (key != null && !key.semanticEquals(KeyJoin.plain(updated)))) {
        return null;
      }
      values.add(delete == null || key != null ? updated
          : new If(delete.condition(), Literal.create(null, updated.dataType()), updated));
    }
    if (delete != null) {
      values.add(new If(delete.condition(), CommandRows.text("D"), CommandRows.text("U")));
      LogicalPlan rows =
          new Filter(new Or(new Not(delete.condition()), hasKey(join, table)), join.source);
      return new CommandPlan(CommandRows.ordered(names, values, rows, table),
          CommandPlan.ACTIONS)
          .once("source");
    }
    List list = new ArrayList();
    for (int i = 0; i < names.size(); i++) {
      list.add(CommandRows.named((Expression) values.get(i), (String) names.get(i)));
    }
    LogicalPlan rows = where(update.condition(), join.source);
    // Of the rows of a source its table trusts what they say.
    return new CommandPlan(new Project(Trees.seq(list), rows), CommandPlan.UPSERT)
        .once("source").placed();
  }

  /** Exactly the rows that are not deleted are inserted, which null would prevent. */
  private static boolean isOpposite(MergeRows.Instruction delete, Expression inserts,
      KeyJoin join) {
    return MergePlan.kindOf(delete) == MergePlan.DELETE && isOfSource(delete.condition(), join)
        && !delete.condition().nullable()
        && (same(new Not(delete.condition()), inserts)
            || same(delete.condition(), new Not(inserts)));
  }

  /** A row without one matches nothing. */
  private static Expression hasKey(KeyJoin join, CatalogTable table) {
    Expression all = Literal.create(Boolean.TRUE, DataTypes.BooleanType);
    String[] key = table.key();
    for (int i = 0; i < key.length; i++) {
      all = new And(all, new IsNotNull(join.of(key[i])));
    }
    return all;
  }

  private static boolean same(Expression one, Expression other) {
    return one.semanticEquals(other);
  }

  private static boolean isOfSource(Expression expression, KeyJoin join) {
    return expression.deterministic() && expression.references().subsetOf(join.source.outputSet());
  }

  private static boolean always(Expression condition) {
    return condition instanceof Literal && Boolean.TRUE.equals(((Literal) condition).value());
  }

  private static LogicalPlan where(Expression condition, LogicalPlan plan) {
    return always(condition) ? plan : new Filter(condition, plan);
  }

  /** By its name in the catalog, or by a path, which may be that of any table. */
  static boolean reads(LogicalPlan plan, CatalogTable table) {
    if (plan instanceof DataSourceV2Relation) {
      Object read = ((DataSourceV2Relation) plan).table();
      return read instanceof PythonTable || read.equals(table);
    }
    for (int i = 0; i < plan.children().length(); i++) {
      if (reads((LogicalPlan) plan.children().apply(i), table)) {
        return true;
      }
    }
    return false;
  }
}
