package arctic.spark.catalog;

import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/** A MERGE: what its clauses need of the table, and what can go wrong with the keys they make. */
final class MergePlan {
  static final int DELETE = 1;
  static final int UPDATE = 2;
  static final int INSERT = 3;

  private MergePlan() {}

  static CommandPlan of(MergeRows merge, CommandRows rows, ProjectingInternalRow row,
      DataSourceV2Relation target, CatalogTable table) {
    KeyJoin join = KeyJoin.of(merge.child(), table);
    CommandPlan blind = join == null ? null : BlindMerge.of(merge, join, row, table);
    if (blind != null) {
      return blind;
    }
    CommandPlan plan = read(merge, join, rows, row, target, table);
    if (CommandReads.isWritten(merge, join, row, table)) {
      plan.readsWritten();
    }
    return plan.seeks(SoughtRows.of(merge, table)).small(SmallMerge.of(merge, join, row, table));
  }

  private static CommandPlan read(MergeRows merge, KeyJoin join, CommandRows rows,
      ProjectingInternalRow row, DataSourceV2Relation target, CatalogTable table) {
    boolean moves = moves(merge, join, rows, row, table);
    boolean inserts = !merge.notMatchedInstructions().isEmpty();
    if (moves || (inserts && (join == null
        || !keeps(merge.notMatchedInstructions(), INSERT, true, join, row, table)))) {
      return new CommandPlan(rows.actions(moves, false), CommandPlan.ACTIONS)
          .once("target").checked();
    }
    boolean goes = StoredPlaces.anyMoves(merge, row, target, table);
    boolean deletes = deletes(merge);
    CommandRows telling = goes || deletes ? rows.telling(target) : rows;
    // An append may have stored a key twice.
    CommandPlan plan = inserts || deletes
        ? new CommandPlan((telling == null ? rows : telling).actions(false, telling != null && goes),
            CommandPlan.ACTIONS).once("target")
        : new CommandPlan((telling == null ? rows : telling).rows(), CommandPlan.UPSERT)
            .once("target");
    return telling == null ? plan : plan.placed();
  }

  /** Returns whether an update may give a row another key. */
  static boolean moves(MergeRows merge, KeyJoin join, CommandRows rows, ProjectingInternalRow row,
      CatalogTable table) {
    return rows.mayMove() && (join == null
        || !keeps(merge.matchedInstructions(), UPDATE, true, join, row, table)
        || !keeps(merge.notMatchedBySourceInstructions(), UPDATE, false, join, row, table));
  }

  static boolean deletes(MergeRows merge) {
    return any(merge.matchedInstructions(), DELETE)
        || any(merge.notMatchedBySourceInstructions(), DELETE);
  }

  /** Returns whether all rows of this kind have the key that the source was joined by. */
  static boolean keeps(scala.collection.immutable.Seq instructions, int kind, boolean isMatched,
      KeyJoin join, ProjectingInternalRow row, CatalogTable table) {
    String[] key = table.key();
    for (int i = 0; i < instructions.length(); i++) {
      MergeRows.Instruction each = (MergeRows.Instruction) instructions.apply(i);
      if (kindOf(each) != kind) {
        continue;
      }
      for (int k = 0; k < key.length; k++) {
        int place = CommandRows.ordinal(row, CommandRows.index(row, key[k]));
        if (!join.keeps(value(each, place), key[k], isMatched)) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean any(scala.collection.immutable.Seq instructions, int kind) {
    for (int i = 0; i < instructions.length(); i++) {
      if (kindOf((MergeRows.Instruction) instructions.apply(i)) == kind) {
        return true;
      }
    }
    return false;
  }

  /** Returns what an instruction does; 0: nothing, or something that is not known here. */
  static int kindOf(MergeRows.Instruction instruction) {
    if (instruction.outputs().length() != 1) {
      return 0;
    }
    Expression first = value(instruction, 0);
    Object code = first instanceof Literal ? ((Literal) first).value() : null;
    return code instanceof Integer ? ((Integer) code).intValue() : 0;
  }

  /** Returns a value of the only row that an instruction makes. */
  static Expression value(MergeRows.Instruction instruction, int place) {
    return (Expression) ((scala.collection.immutable.Seq) instruction.outputs().apply(0))
        .apply(place);
  }
}
