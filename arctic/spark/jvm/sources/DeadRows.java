package arctic.spark;

import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import org.apache.spark.SparkContext;
import scala.reflect.ClassTag$;

/**
 * The dead rows of files: a bit for each row, each file in whole bytes, one file after the other.
 *
 * They are asked for when a query begins, not when it is planned or explained. In pieces they are
 * broadcast: tasks are sent no more than a reference, and an executor fetches the pieces of the
 * files that it reads. Spark drops them when nobody refers to the plan any more: see KnownDeadRows.
 */
public final class DeadRows {
  /** Rows of a piece are two to the power of this: it has 4 MiB, the block of a broadcast. */
  static final int PIECE = 25;
  private static final int PIECE_BYTES = 1 << PIECE - 3;

  /** A file of so many rows is read in some hundredths of a second. */
  private static final long FEW = 1 << 20;

  /** Of each file. */
  private final List counts;
  /** What asks for them: shares, one after the other. */
  final List shares;
  private final Function planner;
  /** They are held for longer than it may be there: see KnownDeadRows. */
  private final WeakReference context;
  private final long bytes;
  /** Broadcasts of bytes; part of the plan of a query, and filled before it has tasks. */
  final AtomicReferenceArray pieces;
  private boolean known;

  public DeadRows(List counts, List shares, Function planner, SparkContext context) {
    this.counts = counts;
    this.shares = shares;
    this.planner = planner;
    this.context = new WeakReference(context);
    long bytes = 0;
    for (int i = 0; i < counts.size(); i++) {
      bytes += bytes(i);
    }
    this.bytes = bytes;
    this.pieces = new AtomicReferenceArray((int) ((bytes + PIECE_BYTES - 1) / PIECE_BYTES));
  }

  public int files() {
    return counts.size();
  }

  /** Returns how many rows a file has, dead ones too. */
  long rows(int file) {
    return ((Number) counts.get(file)).longValue();
  }

  /** Returns how many numbers of rows a file takes: its rows, dead ones too, in whole bytes. */
  public long numbers(int file) {
    return 8 * bytes(file);
  }

  private long bytes(int file) {
    return (rows(file) + 7) / 8;
  }

  /** Says whether the cores are about as busy with files that are not divided. */
  public boolean divideEvenly() {
    long all = 0;
    long[] files = new long[counts.size()];
    for (int i = 0; i < files.length; i++) {
      files[i] = rows(i);
      all += files[i];
    }
    Arrays.sort(files);
    long[] shares = new long[context().defaultParallelism()];
    for (int i = files.length - 1; i >= 0; i--) {
      Arrays.sort(shares);
      shares[0] += files[i];
    }
    Arrays.sort(shares);
    return files[files.length - 1] <= FEW
        || 3 * shares[shares.length - 1] <= 4 * (all / shares.length);
  }

  /** Asks for one share at a time: while its bits are passed on, they take some ten times as much. */
  public synchronized void find() {
    if (known) {
      return;
    }
    byte[] piece = new byte[PIECE_BYTES];
    long filled = 0;
    for (int share = 0; share < shares.size(); share++) {
      List texts = Protocol.bits(
          Protocol.demanded(planner, Protocol.deadRows((List) shares.get(share))));
      for (int i = 0; i < texts.size(); i++) {
        byte[] found = Base64.getDecoder().decode((String) texts.get(i));
        for (int taken = 0; taken < found.length;) {
          int place = (int) (filled % PIECE_BYTES);
          int length = Math.min(found.length - taken, PIECE_BYTES - place);
          System.arraycopy(found, taken, piece, place, length);
          taken += length;
          filled += length;
          if (filled % PIECE_BYTES == 0) {
            send(filled, piece);
            piece = new byte[PIECE_BYTES];
          }
        }
      }
    }
    if (filled % PIECE_BYTES > 0) {
      send(filled, Arrays.copyOf(piece, (int) (filled % PIECE_BYTES)));
    }
    if (filled != bytes) {
      throw new IllegalStateException(filled + " bytes of dead rows; expected " + bytes);
    }
    known = true;
  }

  private void send(long filled, byte[] piece) {
    if (filled <= bytes) {
      pieces.set((int) ((filled - 1) / PIECE_BYTES),
          context().broadcast(piece, ClassTag$.MODULE$.apply(byte[].class)));
    }
  }

  /** Returns what they are broadcast by; null: it has stopped, and nobody knows it any more. */
  SparkContext context() {
    return (SparkContext) context.get();
  }

  /** Returns what they take while somebody refers to them, and the texts that ask for them. */
  long takenBytes() {
    long taken = bytes;
    for (int share = 0; share < shares.size(); share++) {
      List texts = (List) shares.get(share);
      for (int i = 0; i < texts.size(); i++) {
        taken += ((String) texts.get(i)).length();
      }
    }
    return taken;
  }

  /** Whether both ask for the same rows. */
  public boolean equals(Object other) {
    return other instanceof DeadRows && ((DeadRows) other).shares.equals(shares);
  }

  public int hashCode() {
    return shares.hashCode();
  }
}
