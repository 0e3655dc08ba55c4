package arctic.spark;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.ShiftLeft;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.codegen.CodeBlock;
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenContext;
import org.apache.spark.sql.catalyst.expressions.codegen.ExprCode;
import org.apache.spark.sql.catalyst.expressions.codegen.FalseLiteral$;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;

/**
 * Says of a row of a file whether it is one to keep; the first row of a clean file is below zero.
 *
 * Where Spark compiles a whole stage, a task looks a piece of the dead rows up once, for all rows in
 * it. Elsewhere executors are sent expressions of Spark's own, which look it up for each row: this
 * class is not theirs.
 */
public final class IsAlive extends Expression implements java.io.Serializable {
  private static final long IN_PIECE = (1L << DeadRows.PIECE) - 1;

  private final DeadRows dead;
  private final Expression firstRow;
  private final Expression rowIndex;

  public IsAlive(DeadRows dead, Expression firstRow, Expression rowIndex) {
    this.dead = dead;
    this.firstRow = firstRow;
    this.rowIndex = rowIndex;
  }

  public ExprCode doGenCode(CodegenContext context, ExprCode code) {
    ExprCode first = firstRow.genCode(context);
    ExprCode index = rowIndex.genCode(context);
    String row = context.freshName("row");
    String text = "boolean " + code.value() + " = true;\n"
        + "if (" + first.value() + " >= 0L) {\n"
        + "  long " + row + " = " + first.value() + " + " + index.value() + ";\n"
        + looksUp(context, dead, row, code.value().toString())
        + "}\n";
    return new ExprCode(
        first.code().$plus(index.code()).$plus(new CodeBlock(one(text), Trees.seq(new ArrayList()))),
        FalseLiteral$.MODULE$, code.value());
  }

  /** Returns statements that say of the row of a number whether it is one to keep. */
  static String looksUp(CodegenContext context, DeadRows dead, String row, String isAlive) {
    String pieces = context.addReferenceObj("deadRows", dead.pieces, AtomicReferenceArray.class.getName());
    String bits = state(context, "byte[]", "deadBits");
    String place = state(context, "int", "deadPlace");
    String piece = context.freshName("piece");
    return "  int " + piece + " = (int) (" + row + " >> " + DeadRows.PIECE + ");\n"
        + "  if (" + bits + " == null || " + piece + " != " + place + ") {\n"
        + "    " + bits + " = (byte[]) ((" + Broadcast.class.getName() + ") " + pieces + ".get(" + piece
        + ")).value();\n"
        + "    " + place + " = " + piece + ";\n"
        + "  }\n"
        + "  " + isAlive + " = (" + bits + "[(int) ((" + row + " & " + IN_PIECE + "L) >> 3)] >> (int) ("
        + row + " & 7L) & 1) == 0;\n";
  }

  static String state(CodegenContext context, String type, String name) {
    return context.addMutableState(type, name, context.addMutableState$default$3(), false, true);
  }

  /** Returns the same in expressions of Spark's own. */
  private Expression plain() {
    Expression row = new Add(firstRow, rowIndex);
    Expression piece = new Invoke(
        new Literal(dead.pieces, new ObjectType(AtomicReferenceArray.class)), "get",
        new ObjectType(Broadcast.class), one(asInt(new ShiftRight(row, number(DeadRows.PIECE)))),
        none(), true, false, true);
    Expression bytes = new StaticInvoke(ByteBuffer.class, new ObjectType(ByteBuffer.class), "wrap",
        one(new Invoke(piece, "value", DataTypes.BinaryType, none(), none(), true, false, true)),
        none(), true, false, true, scala.Option.empty());
    Expression place = new ShiftRight(new BitwiseAnd(row, number(IN_PIECE)), number(3));
    Expression eight = new Invoke(
        bytes, "get", DataTypes.ByteType, one(asInt(place)), none(), true, false, true);
    Expression bit = new ShiftLeft(number(1), asInt(new BitwiseAnd(row, number(7L))));
    return new Or(new LessThan(firstRow, number(0L)),
        new EqualTo(new BitwiseAnd(asInt(eight), bit), number(0)));
  }

  static scala.collection.immutable.Seq one(Object item) {
    return Trees.seq(Arrays.asList(new Object[] {item}));
  }

  private static scala.collection.immutable.Seq none() {
    return Trees.seq(new ArrayList());
  }

  private static Expression number(int value) {
    return new Literal(Integer.valueOf(value), DataTypes.IntegerType);
  }

  private static Expression number(long value) {
    return new Literal(Long.valueOf(value), DataTypes.LongType);
  }

  private static Expression asInt(Expression value) {
    return new Cast(value, DataTypes.IntegerType, scala.Option.empty());
  }

  public Object eval(InternalRow row) {
    return plain().eval(row);
  }

  protected Object writeReplace() {
    return plain();
  }

  public scala.collection.immutable.Seq children() {
    List children = Arrays.asList(new Object[] {firstRow, rowIndex});
    return Trees.seq(children);
  }

  public TreeNode withNewChildrenInternal(scala.collection.immutable.IndexedSeq children) {
    return new IsAlive(dead, (Expression) children.apply(0), (Expression) children.apply(1));
  }

  public boolean nullable() {
    return false;
  }

  public DataType dataType() {
    return DataTypes.BooleanType;
  }

  public Object productElement(int place) {
    return place == 0 ? (Object) dead : place == 1 ? firstRow : rowIndex;
  }

  public int productArity() {
    return 3;
  }

  public boolean canEqual(Object other) {
    return other instanceof IsAlive;
  }

  public boolean equals(Object other) {
    return other instanceof IsAlive && ((IsAlive) other).dead.equals(dead)
        && ((IsAlive) other).firstRow.equals(firstRow) && ((IsAlive) other).rowIndex.equals(rowIndex);
  }

  public int hashCode() {
    return 31 * (31 * dead.hashCode() + firstRow.hashCode()) + rowIndex.hashCode();
  }

  public String toString() {
    return "is_alive(" + firstRow + ", " + rowIndex + ")";
  }
}
