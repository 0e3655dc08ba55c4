package arctic.spark;

import java.util.function.Function;

/**
 * The process of Python that a catalog asks, one for all sessions of this JVM.
 *
 * arctic.register(session) sets it. Where nobody did, as in the spark-sql shell, a Python of its own
 * could be started here: whoever asks a catalog comes by {@link #needed}.
 */
public final class Callback {
  /** Null: no Python has registered. */
  public static volatile Function function;

  private Callback() {}

  public static Function needed() {
    Function known = function;
    if (known == null) {
      throw new IllegalStateException("the catalog asks Python, and no Python has registered with "
          + "this Spark; call arctic.register(spark) in the program that began the session");
    }
    return known;
  }
}
