package arctic.spark;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.BitwiseAnd;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.ShiftLeft;
import org.apache.spark.sql.catalyst.expressions.ShiftRight;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;

/**
 * The dead rows of files: a bit for each row of a file, which whoever reads it is sent.
 *
 * They are asked for when a query begins, not when it is planned or explained.
 */
public final class DeadRows {
  /** Of each file. */
  private final List counts;
  /** What asks for them. */
  private final List work;
  private final Function planner;
  /** Of each file; null: not asked for yet. */
  private byte[][] found;

  public DeadRows(List counts, List work, Function planner) {
    this.counts = counts;
    this.work = work;
    this.planner = planner;
  }

  public int files() {
    return counts.size();
  }

  /** Returns the bits of a file; null: none of its rows is dead. */
  public synchronized byte[] of(int file) {
    if (found == null) {
      found = dealt(Protocol.bits(Protocol.demanded(planner, Protocol.deadRows(work))));
    }
    return found[file];
  }

  /** Returns what is true for the rows to keep. */
  public static Expression isAlive(Expression bits, Expression rowIndex) {
    Expression bytes = new StaticInvoke(ByteBuffer.class, new ObjectType(ByteBuffer.class), "wrap",
        one(bits), Trees.seq(new ArrayList()), true, false, true, scala.Option.empty());
    Expression eight = new Invoke(bytes, "get", DataTypes.ByteType,
        one(asInt(new ShiftRight(rowIndex, number(3)))), Trees.seq(new ArrayList()), true, false,
        true);
    Expression place = new BitwiseAnd(asInt(rowIndex), number(7));
    Expression isAlive = new EqualTo(
        new BitwiseAnd(asInt(eight), new ShiftLeft(number(1), place)), number(0));
    return new Or(new IsNull(bits), isAlive);
  }

  private static scala.collection.immutable.Seq one(Expression argument) {
    ArrayList arguments = new ArrayList();
    arguments.add(argument);
    return Trees.seq(arguments);
  }

  private static Expression number(int value) {
    return new Literal(Integer.valueOf(value), DataTypes.IntegerType);
  }

  private static Expression asInt(Expression value) {
    return new Cast(value, (DataType) DataTypes.IntegerType, scala.Option.empty());
  }

  /** Deals bytes out to the files that they are of: each has whole ones. */
  private byte[][] dealt(List texts) {
    byte[][] dealt = new byte[counts.size()][];
    byte[] part = new byte[0];
    int text = 0;
    int place = 0;
    for (int file = 0; file < dealt.length; file++) {
      byte[] bits = new byte[(int) ((((Number) counts.get(file)).longValue() + 7) / 8)];
      int filled = 0;
      while (filled < bits.length && (place < part.length || text < texts.size())) {
        if (place == part.length) {
          part = Base64.getDecoder().decode((String) texts.get(text++));
          place = 0;
        }
        int length = Math.min(part.length - place, bits.length - filled);
        System.arraycopy(part, place, bits, filled, length);
        place += length;
        filled += length;
      }
      if (filled < bits.length) {
        throw new IllegalStateException("dead rows end in file " + file + " of " + dealt.length);
      }
      dealt[file] = hasAny(bits) ? bits : null;
    }
    if (place < part.length || text < texts.size()) {
      throw new IllegalStateException("dead rows go on after " + dealt.length + " files");
    }
    return dealt;
  }

  private static boolean hasAny(byte[] bits) {
    for (int i = 0; i < bits.length; i++) {
      if (bits[i] != 0) {
        return true;
      }
    }
    return false;
  }

  /** Whether both ask for the same rows. */
  public boolean equals(Object other) {
    return other instanceof DeadRows && ((DeadRows) other).work.equals(work);
  }

  public int hashCode() {
    return work.hashCode();
  }
}
