package arctic.spark.catalog;

import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.ProjectingInternalRow;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeRows;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * In which partitions the stored rows of a command are, as columns beside what becomes of them: for
 * a table whose writer looks no row up.
 *
 * Of a row that is deleted Spark keeps the key alone, of one that is updated what it is afterwards.
 */
final class StoredPlaces {
  /** The rows of the command with these columns, behind their own. */
  final LogicalPlan query;
  private final List names;
  private final List columns;

  private StoredPlaces(LogicalPlan query, List names, List columns) {
    this.query = query;
    this.names = names;
    this.columns = columns;
  }

  /** Returns null where the plan is another one than those that are known here. */
  static StoredPlaces of(LogicalPlan query, DataSourceV2Relation target, CatalogTable table) {
    if (!(query instanceof MergeRows) && !(query instanceof Project)) {
      return null;
    }
    String[] names = table.trusted();
    List stored = new ArrayList();
    for (int i = 0; i < names.length; i++) {
      stored.add(column(target, names[i]));
    }
    LogicalPlan rows = keeping((LogicalPlan) query.children().apply(0), stored);
    if (rows == null) {
      return null;
    }
    List made = new ArrayList();
    LogicalPlan all = query instanceof MergeRows ? merged((MergeRows) query, rows, stored, made)
        : projected((Project) query, rows, stored, made);
    return all == null ? null : new StoredPlaces(all, Arrays.asList(names), made);
  }

  /** Returns a column as it is stored; null: it says nothing of where a row is. */
  Expression of(String column) {
    int place = names.indexOf(column);
    return place < 0 ? null : (Expression) columns.get(place);
  }

  /** Returns all of them, in the order that the table has. */
  List told() {
    return columns;
  }

  /** Returns whether an UPDATE may take a row to another partition. */
  static boolean moves(LogicalPlan query, ProjectingInternalRow row, DataSourceV2Relation target,
      CatalogTable table) {
    String[] names = table.trusted();
    for (int i = 0; i < names.length; i++) {
      int place = CommandRows.ordinal(row, CommandRows.index(row, names[i]));
      if (!(query instanceof Project) || !stays(
          (Expression) ((Project) query).projectList().apply(place), names[i], target)) {
        return true;
      }
    }
    return false;
  }

  /** Returns whether an update of a MERGE may take a row to another partition. */
  static boolean anyMoves(MergeRows merge, ProjectingInternalRow row, DataSourceV2Relation target,
      CatalogTable table) {
    String[] names = table.trusted();
    scala.collection.immutable.Seq all = merge.instructions();
    for (int i = 0; i < all.length(); i++) {
      MergeRows.Instruction each = (MergeRows.Instruction) all.apply(i);
      for (int j = 0; MergePlan.kindOf(each) == MergePlan.UPDATE && j < names.length; j++) {
        int place = CommandRows.ordinal(row, CommandRows.index(row, names[j]));
        if (!stays(MergePlan.value(each, place), names[j], target)) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean stays(Expression value, String name, DataSourceV2Relation target) {
    Expression plain = KeyJoin.plain(value instanceof Alias ? ((Alias) value).child() : value);
    return plain instanceof Attribute
        && ((Attribute) plain).exprId().equals(column(target, name).exprId());
  }

  private static Attribute column(DataSourceV2Relation target, String name) {
    for (int i = 0; i < target.output().length(); i++) {
      Attribute each = (Attribute) target.output().apply(i);
      if (each.name().equals(name)) {
        return each;
      }
    }
    throw new IllegalStateException(target.table().name() + " has no column " + name);
  }

  /** Returns a plan that keeps some columns of what is below it; null: it cannot. */
  private static LogicalPlan keeping(LogicalPlan plan, List stored) {
    List missing = new ArrayList();
    for (int i = 0; i < stored.size(); i++) {
      if (!plan.outputSet().contains((Attribute) stored.get(i))) {
        missing.add(stored.get(i));
      }
    }
    if (missing.isEmpty()) {
      return plan;
    }
    if (!(plan instanceof Project || plan instanceof Filter || plan instanceof Join)) {
      return null;
    }
    List below = new ArrayList();
    boolean isKept = false;
    for (int i = 0; i < plan.children().length(); i++) {
      LogicalPlan child = (LogicalPlan) plan.children().apply(i);
      LogicalPlan kept = isKept ? null : keeping(child, stored);
      isKept = isKept || kept != null;
      below.add(kept == null ? child : kept);
    }
    if (!isKept) {
      return null;
    }
    if (plan instanceof Project) {
      return new Project(joined(((Project) plan).projectList(), missing), (LogicalPlan) below.get(0));
    }
    LogicalPlan same = (LogicalPlan) plan.withNewChildren(Trees.seq(below));
    for (int i = 0; i < stored.size(); i++) {
      if (!same.outputSet().contains((Attribute) stored.get(i))) {
        return null;
      }
    }
    return same;
  }

  private static LogicalPlan projected(Project query, LogicalPlan rows, List stored, List made) {
    List named = new ArrayList();
    for (int i = 0; i < stored.size(); i++) {
      NamedExpression each = CommandRows.named((Expression) stored.get(i), "stored" + i);
      named.add(each);
      made.add(each.toAttribute());
    }
    return new Project(joined(query.projectList(), named), rows);
  }

  private static LogicalPlan merged(MergeRows query, LogicalPlan rows, List stored, List made) {
    List nothing = new ArrayList();
    for (int i = 0; i < stored.size(); i++) {
      Attribute each = (Attribute) stored.get(i);
      nothing.add(Literal.create(null, each.dataType()));
      made.add(new AttributeReference("stored" + i, each.dataType(), true,
          org.apache.spark.sql.types.Metadata.empty(), NamedExpression.newExprId(),
          CommandRows.nothing()));
    }
    Object[] fields = new Object[query.productArity()];
    for (int i = 0; i < fields.length; i++) {
      Object field = query.productElement(i);
      // The instructions for rows that are stored, and for those that are not.
      if (field == query.matchedInstructions() || field == query.notMatchedBySourceInstructions()) {
        field = telling((scala.collection.immutable.Seq) field, stored);
      } else if (field == query.notMatchedInstructions()) {
        field = telling((scala.collection.immutable.Seq) field, nothing);
      } else if (field == query.output()) {
        field = joined(query.output(), made);
      } else if (field == query.child()) {
        field = rows;
      }
      if (field == null) {
        return null;
      }
      fields[i] = field;
    }
    return (LogicalPlan) query.makeCopy(fields);
  }

  /** Returns instructions whose rows have more values; null: one of them is not known here. */
  private static Object telling(scala.collection.immutable.Seq instructions, List values) {
    List all = new ArrayList();
    for (int i = 0; i < instructions.length(); i++) {
      Object each = instructions.apply(i);
      if (each instanceof MergeRows.Keep) {
        scala.Product keep = (scala.Product) each;
        Object[] fields = new Object[keep.productArity()];
        for (int j = 0; j < fields.length; j++) {
          fields[j] = keep.productElement(j);
        }
        fields[fields.length - 1] = joined(((MergeRows.Keep) each).output(), values);
        each = ((TreeNode) each).makeCopy(fields);
      } else if (((MergeRows.Instruction) each).outputs().length() > 0) {
        return null;
      }
      all.add(each);
    }
    return Trees.seq(all);
  }

  private static scala.collection.immutable.Seq joined(scala.collection.immutable.Seq first,
      List then) {
    List all = new ArrayList();
    for (int i = 0; i < first.length(); i++) {
      all.add(first.apply(i));
    }
    all.addAll(then);
    return Trees.seq(all);
  }
}
