package arctic.spark;

import java.math.BigInteger;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.internal.SQLConf;

/**
 * What a relation could be planned in, with all that it is joined with.
 *
 * A group is read by one task, so groups must keep the cores as busy as files do that are cut and
 * dealt out by their bytes alone, and no more of them are wanted than tasks would be. Where executors
 * come as tasks wait, nobody knows the cores: a group must be no more than a task would be then.
 */
public final class GroupsChoice {
  private static final long MOST_BYTES_OF_A_GROUP = 1L << 30;
  /** The busiest core may read so much more than its share; */
  private static final double MOST_OVER_A_SHARE = 1.25;
  /** that it reads so little is never too much. */
  private static final long FEW_BYTES = 4L << 20;

  final KeyGroupsAsked offered;
  /** Null: this stands for all that are joined. */
  private GroupsChoice joined;
  /** Of each group, of all that are joined; fewer than are offered where others have fewer. */
  private long[] bytes;

  GroupsChoice(KeyGroupsAsked offered) {
    this.offered = offered;
    this.bytes = offered.bytes;
  }

  private GroupsChoice top() {
    return joined == null ? this : joined.top();
  }

  /** Those that are joined have the same number of groups. */
  void joinedWith(GroupsChoice other) {
    GroupsChoice mine = top();
    GroupsChoice theirs = other.top();
    if (mine != theirs) {
      int number = BigInteger.valueOf(mine.bytes.length).gcd(
          BigInteger.valueOf(theirs.bytes.length)).intValue();
      long[] all = folded(theirs.bytes, number);
      long[] more = folded(mine.bytes, number);
      for (int i = 0; i < number; i++) {
        all[i] += more[i];
      }
      theirs.bytes = all;
      mine.joined = theirs;
    }
  }

  /** Returns what it is to be planned in; null: in none. */
  KeyGroupsAsked worthIt() {
    SparkContext context = SparkContext.getOrCreate();
    long bytesOfTask = ((SQLConf) SQLConf.get()).filesMaxPartitionBytes();
    boolean coresCome = context.getConf().getBoolean("spark.dynamicAllocation.enabled", false);
    int number = number(top().bytes, context.defaultParallelism(), bytesOfTask,
        coresCome ? bytesOfTask : MOST_BYTES_OF_A_GROUP);
    return number == 0 ? null : offered.of(number);
  }

  /** Returns how many groups are worth it, as few as make tasks of so many bytes; 0: none. */
  public static int number(long[] bytes, int cores, long bytesOfTask, long mostBytes) {
    int best = 0;
    for (int number = Math.max(2, cores); number <= bytes.length; number++) {
      if (bytes.length % number == 0) {
        long[] some = folded(bytes, number);
        long largest = largest(some);
        if (largest <= mostBytes && isEven(some, cores)) {
          best = number;
          if (largest <= bytesOfTask) {
            break;
          }
        }
      }
    }
    return best;
  }

  private static long[] folded(long[] bytes, int number) {
    long[] folded = new long[number];
    for (int i = 0; i < bytes.length; i++) {
      folded[i % number] += bytes[i];
    }
    return folded;
  }

  private static long largest(long[] bytes) {
    long largest = 0;
    for (int i = 0; i < bytes.length; i++) {
      largest = Math.max(largest, bytes[i]);
    }
    return largest;
  }

  /** Each core takes the next group when it has read one. */
  private static boolean isEven(long[] bytes, int cores) {
    long[] read = new long[cores];
    long total = 0;
    for (int i = 0; i < bytes.length; i++) {
      int next = 0;
      for (int core = 1; core < cores; core++) {
        next = read[core] < read[next] ? core : next;
      }
      read[next] += bytes[i];
      total += bytes[i];
    }
    long busiest = largest(read);
    return busiest <= FEW_BYTES || busiest <= MOST_OVER_A_SHARE * total / cores;
  }
}
