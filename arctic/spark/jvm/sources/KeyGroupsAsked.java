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

  public KeyGroupsAsked(String function, List columns, int groups) {
    this.function = function;
    this.columns = columns;
    this.groups = groups;
  }

  /** Says whether scans of the session are asked for any. */
  static boolean areWanted() {
    return SparkSession.active().conf().get(WANTED, "false").equals("true");
  }

  static KeyGroupsAsked of(List told) {
    return new KeyGroupsAsked((String) told.get(0), (List) told.get(1),
        ((Number) told.get(2)).intValue());
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
    return new KeyGroupsAsked(function, columns, number);
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
