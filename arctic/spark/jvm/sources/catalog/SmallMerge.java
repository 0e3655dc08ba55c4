package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;

/**
 * A MERGE that sets columns of every row which its source finds by the whole key, and does no more,
 * to values that are said without Spark.
 */
final class SmallMerge {
  /** The keys of the source, and what of it is set. */
  final LogicalPlan rows;
  /** By the names of columns. */
  final Map sets;

  private SmallMerge(LogicalPlan rows, Map sets) {
    this.rows = rows;
    this.sets = sets;
  }

  /** Returns null where a MERGE does something else, or its source reads its own table. */
  static SmallMerge of(MergeRows merge, KeyJoin join, ProjectingInternalRow row,
      CatalogTable table) {
    if (join == null || merge.matchedInstructions().length() != 1
        || !merge.notMatchedInstructions().isEmpty()
        || !merge.notMatchedBySourceInstructions().isEmpty()
        || CommandReads.leaves(merge) < 0 || join.source.isStreaming()
        || BlindMerge.reads(join.source, table) || Uncached.reads(join.source, table)
        || Uncached.takes(join.source, table)) {
      return null;
    }
    MergeRows.Instruction clause = (MergeRows.Instruction) merge.matchedInstructions().apply(0);
    if (MergePlan.kindOf(clause) != MergePlan.UPDATE || !isTrue(clause.condition())
        || !MergePlan.keeps(merge.matchedInstructions(), MergePlan.UPDATE, true, join, row, table)) {
      return null;
    }
    SetValues values = new SetValues(join.target, table, join.source);
    List columns = new ArrayList();
    String[] key = table.key();
    for (int i = 0; i < key.length; i++) {
      columns.add(CommandRows.named(join.of(key[i]), key[i]));
    }
    List names = CommandRows.names(row);
    names.removeAll(Arrays.asList(key));
    Map sets = new LinkedHashMap();
    for (int i = 0; i < names.size(); i++) {
      String name = (String) names.get(i);
      int place = CommandRows.ordinal(row, CommandRows.index(row, name));
      if (!values.take(name, MergePlan.value(clause, place), sets)) {
        return null;
      }
    }
    for (int i = 0; i < values.used.size(); i++) {
      columns.add(CommandRows.named((Expression) values.used.get(i), "source" + i));
    }
    return sets.isEmpty() ? null
        : new SmallMerge(new Project(Trees.seq(columns), join.source), sets);
  }

  private static boolean isTrue(Expression condition) {
    return condition instanceof Literal && Boolean.TRUE.equals(((Literal) condition).value());
  }
}
