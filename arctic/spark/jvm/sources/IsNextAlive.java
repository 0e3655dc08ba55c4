package arctic.spark;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * IsAlive where a task reads files whole, from the first row to the last: it counts them itself.
 *
 * Each file has as many rows as are told with them, or the task fails. Only for LiveRows, which has
 * another plan where Spark does not compile this one.
 */
public final class IsNextAlive extends Expression {
  private static final String FAILURE = "a data file has other rows than were looked up; set "
      + "spark.arctic.readWithSpark to false, and report it";

  private final DeadRows dead;
  private final Expression firstRow;
  /** Of the file. */
  private final Expression rows;

  public IsNextAlive(DeadRows dead, Expression firstRow, Expression rows) {
    this.dead = dead;
    this.firstRow = firstRow;
    this.rows = rows;
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    ExprCode first = firstRow.genCode(context);
    ExprCode count = rows.genCode(context);
    String file = IsAlive.state(context, "long", "deadFile");  // its first row, from 1 on
    String next = IsAlive.state(context, "long", "deadNext");
    String end = IsAlive.state(context, "long", "deadEnd");
    String row = context.freshName("row");
    String fails = "    throw new IllegalStateException(\"" + FAILURE + "\");\n";
    String begins = "boolean " + code.value() + " = true;\n"
        + "if (" + first.value() + " + 1L != " + file + ") {\n"
        + "  if (" + file + " > 0L && " + next + " != " + end + ") {\n" + fails + "  }\n";
    String goesOn = "  " + file + " = " + first.value() + " + 1L;\n"
        + "  " + next + " = " + first.value() + ";\n"
        + "  " + end + " = " + first.value() + " + " + count.value() + ";\n"
        + "}\n"
        + "if (" + file + " > 0L) {\n"
        + "  long " + row + " = " + next + "++;\n"
        + "  if (" + row + " >= " + end + ") {\n" + fails + "  }\n"
        + IsAlive.looksUp(context, dead, row, code.value().toString())
        + "}\n";
    return new ExprCode(
        first.code().$plus(text(begins)).$plus(count.code()).$plus(text(goesOn)),
        FalseLiteral$.MODULE$, code.value());
  }

  private static CodeBlock text(String text) {
    return new CodeBlock(IsAlive.one(text), Trees.seq(new ArrayList()));
  }

  public Object eval(InternalRow row) {
    throw new IllegalStateException("rows are counted by compiled stages alone");
  }

  public scala.collection.immutable.Seq children() {
    List children = Arrays.asList(new Object[] {firstRow, rows});
    return Trees.seq(children);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new IsNextAlive(dead, (Expression) children.apply(0), (Expression) children.apply(1));
  }

  public boolean nullable() {
    return false;
  }

  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  public Object productElement(int place) {
    return place == 0 ? (Object) dead : place == 1 ? firstRow : rows;
  }

  public int productArity() {
    return 3;
  }

  public boolean canEqual(Object other) {
    return other instanceof IsNextAlive;
  }

  public boolean equals(Object other) {
    return other instanceof IsNextAlive && ((IsNextAlive) other).dead.equals(dead)
        && ((IsNextAlive) other).firstRow.equals(firstRow)
        && ((IsNextAlive) other).rows.equals(rows);
  }

  public int hashCode() {
    return 31 * (31 * dead.hashCode() + firstRow.hashCode()) + rows.hashCode();
  }

  public String toString() {
    return "is_alive(" + firstRow + ")";
  }
}
