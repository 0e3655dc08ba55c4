package arctic.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.WeakHashMap;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What the scans of one query have pinned, so that all of them see the same state of a table. */
public final class Pins {
  /** Of all sessions: a query may read a table by its name in a catalog and by its path. */
  public static final Pins SHARED = new Pins();
  /** Options of a read, in lower case, that ask for a past state or for changes up to one. */
  private static final String[] PAST = new String[] {"version", "versionasof", "as-of-timestamp",
      "snapshot-id", "start-snapshot-id", "end-snapshot-id", "end-timestamp"};
  private final Map queries = new WeakHashMap();
  private final Map names = new WeakHashMap();

  /** Returns the pins of the query that is planned now, by table. */
  public synchronized Map ofThisQuery() {
    scala.Option query = QueryPlanningTracker.get();
    if (query.isEmpty()) {
      return new HashMap();
    }
    Map pinned = (Map) queries.get(query.get());
    if (pinned == null) {
      pinned = Collections.synchronizedMap(new HashMap());
      queries.put(query.get(), pinned);
    }
    return pinned;
  }

  /** Returns by what Python knows the query that is planned now; null: it is none. */
  public synchronized String nameOfThisQuery() {
    scala.Option query = QueryPlanningTracker.get();
    if (query.isEmpty()) {
      return null;
    }
    String name = (String) names.get(query.get());
    if (name == null) {
      name = UUID.randomUUID().toString();
      names.put(query.get(), name);
    }
    return name;
  }

  /**
   * Returns the states in which a query may have read a table as it is now, by this name or another.
   *
   * Those of a table of another catalog with the same path are among them, those of a past that was
   * asked for are not.
   */
  public static List newest(Map pinned, CaseInsensitiveStringMap table) {
    List found = new ArrayList();
    Object[] read = pinned.keySet().toArray();
    for (int i = 0; i < read.length; i++) {
      if (isNewest((Map) read[i], table.get("path"))) {
        found.add(pinned.get(read[i]));
      }
    }
    return found;
  }

  /** Returns whether the options of a read ask for a table, called by this path, as it is now. */
  public static boolean isNewest(Map options, String path) {
    for (int i = 0; i < PAST.length; i++) {
      if (options.containsKey(PAST[i])) {
        return false;
      }
    }
    return path.equals(options.get("path"));
  }

  /** Plans a frame, and returns the states in which it is going to read a table as it is now. */
  public List ofFrame(Dataset frame, String path) {
    frame.queryExecution().optimizedPlan();
    Map pinned;
    synchronized (this) {
      pinned = (Map) queries.get(frame.queryExecution().tracker());
    }
    Map table = new HashMap();
    table.put("path", path);
    return pinned == null ? new ArrayList() : newest(pinned, new CaseInsensitiveStringMap(table));
  }

  /** Returns by what the pin of a scan is known: its options, names in lower case. */
  public static Map table(CaseInsensitiveStringMap options) {
    return new HashMap(options);
  }
}
