package arctic.spark;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;

/** Groups of rows by their keys that a scan can be planned in, or is. */
public final class KeyGroupsAsked {
  static final String WANTED = "spark.arctic.joinWithoutShuffle";

  /** What tells the group of a row, with the types of the columns. */
  public final String function;
  /** Names of what the function takes. */
  public final List columns;
  /** How many; a divisor of it will do too. */
  public final int groups;
  /** Of the data files of each, where a scan can be planned so; null: it is asked for them. */
  final long[] bytes;

  private KeyGroupsAsked(String function, List columns, int groups, long[] bytes) {
    this.function = function;
    this.columns = columns;
    this.groups = groups;
    this.bytes = bytes;
  }

  /** Says whether scans of the session are asked for any, which a user can forbid. */
  static boolean areWanted() {
    return SparkSession.active().conf().get(WANTED, "true").equals("true");
  }

  /** Returns what Python tells of a scan. */
  static KeyGroupsAsked of(List told) {
    List sizes = (List) told.get(2);
    long[] bytes = new long[sizes.size()];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = ((Number) sizes.get(i)).longValue();
    }
    return new KeyGroupsAsked((String) told.get(0), (List) told.get(1), bytes.length, bytes);
  }

  /** Returns the same for Python. */
  List told() {
    List told = new ArrayList();
    told.add(function);
    told.add(columns);
    told.add(Integer.valueOf(groups));
    return told;
  }

  /** Returns fewer groups of the same function. */
  KeyGroupsAsked of(int number) {
    return new KeyGroupsAsked(function, columns, number, null);
  }

  public boolean equals(Object other) {
    return other instanceof KeyGroupsAsked && ((KeyGroupsAsked) other).function.equals(function)
        && ((KeyGroupsAsked) other).columns.equals(columns)
        && ((KeyGroupsAsked) other).groups == groups;
  }

  public int hashCode() {
    return 31 * function.hashCode() + groups;
  }

  public String toString() {
    return groups + " by " + function + " of " + columns;
  }
}
