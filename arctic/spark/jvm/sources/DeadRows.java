package arctic.spark;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.util.collection.BitSet;

/**
 * The dead rows of files, numbered one file after the other: a bit for each row.
 *
 * They are asked for when a query begins, not when it is planned or explained.
 */
public final class DeadRows {
  /** Of each file. */
  private final List counts;
  /** What asks for them. */
  private final List work;
  private final Function planner;
  /** Part of the plan of a query, and sent with its tasks: filled before there is one. */
  private final BitSet bits;
  private boolean known;

  public DeadRows(List counts, List work, Function planner) {
    this.counts = counts;
    this.work = work;
    this.planner = planner;
    long rows = 0;
    for (int i = 0; i < counts.size(); i++) {
      rows += rows(i);
    }
    this.bits = new BitSet(Math.toIntExact(rows));
  }

  public int files() {
    return counts.size();
  }

  /** Returns how many rows a file has, dead ones too. */
  public long rows(int file) {
    return ((Number) counts.get(file)).longValue();
  }

  /** Returns what is true for the rows to keep; the first row of a clean file is below zero. */
  public Expression isAlive(Expression firstRow, Expression rowIndex) {
    ArrayList number = new ArrayList();
    number.add(new Cast(
        new Add(firstRow, rowIndex), DataTypes.IntegerType, scala.Option.empty()));
    Expression isDead = new Invoke(new Literal(bits, new ObjectType(BitSet.class)), "get",
        DataTypes.BooleanType, Trees.seq(number), Trees.seq(new ArrayList()), true, false, true);
    return new Or(new LessThan(firstRow, new Literal(Long.valueOf(0L), DataTypes.LongType)),
        new Not(isDead));
  }

  public synchronized void find() {
    if (known) {
      return;
    }
    byte[] found = bytes(Protocol.bits(Protocol.demanded(planner, Protocol.deadRows(work))));
    int place = 0;
    int row = 0;
    for (int file = 0; file < counts.size(); file++) {
      int rows = (int) rows(file);
      for (int start = 0; start < rows; start += 8) {
        for (int left = found[place++] & 0xff; left != 0; left &= left - 1) {
          bits.set(row + start + Integer.numberOfTrailingZeros(left));
        }
      }
      row += rows;
    }
    if (place != found.length) {
      throw new IllegalStateException(found.length + " bytes of dead rows; expected " + place);
    }
    known = true;
  }

  /** Whether both ask for the same rows. */
  public boolean equals(Object other) {
    return other instanceof DeadRows && ((DeadRows) other).work.equals(work);
  }

  public int hashCode() {
    return work.hashCode();
  }

  private static byte[] bytes(List texts) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int i = 0; i < texts.size(); i++) {
      byte[] part = Base64.getDecoder().decode((String) texts.get(i));
      bytes.write(part, 0, part.length);
    }
    return bytes.toByteArray();
  }
}
