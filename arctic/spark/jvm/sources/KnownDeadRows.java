package arctic.spark;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.SparkContext;

/**
 * Dead rows that earlier queries have found, by what asked for them: those are broadcast already.
 *
 * It names files and deletes, which never change, and how they are opened: who opens them otherwise
 * asks anew. Together they take a sixteenth of the heap at most.
 */
final class KnownDeadRows {
  private static final long MOST_BYTES = Runtime.getRuntime().maxMemory() / 16;
  /** By their shares, those that were asked for last at the end. */
  private static final LinkedHashMap KNOWN = new LinkedHashMap(16, 0.75f, true);
  private static long bytes = 0;

  private KnownDeadRows() {}

  /** Returns what is to be found yet where nobody has, or too long ago. */
  static synchronized DeadRows of(List counts, List shares, Function planner, SparkContext context) {
    DeadRows known = (DeadRows) KNOWN.get(shares);
    return known != null && known.context() == context ? known
        : new DeadRows(counts, shares, planner, context);
  }

  static synchronized void remember(DeadRows found) {
    if (KNOWN.get(found.shares) == found) {
      return;
    }
    DeadRows before = (DeadRows) KNOWN.put(found.shares, found);
    bytes += found.takenBytes() - (before == null ? 0 : before.takenBytes());
    for (Iterator each = KNOWN.values().iterator(); each.hasNext();) {
      DeadRows oldest = (DeadRows) each.next();
      // What was broadcast by a context that has stopped is gone.
      if (bytes > MOST_BYTES || oldest.context() != found.context()) {
        bytes -= oldest.takenBytes();
        each.remove();
      }
    }
  }
}
