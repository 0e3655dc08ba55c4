package arctic.spark;

import java.util.function.Function;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSourceManager;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;

/**
 * The process of Python that a catalog asks, one for all sessions of this JVM.
 *
 * arctic.register(session) sets it. Where nobody did, as in the spark-sql shell, a Python of its own
 * is started by the first question, and another one when that has died.
 */
public final class Callback implements Function {
  /** Asks whoever answers when the question is asked: what lives longer than a process keeps this. */
  public static final Function AT_USE = new Callback();

  /** Null: no Python has registered. */
  public static volatile Function function;

  /** The format, as the session that registered has it. */
  public static volatile UserDefinedPythonDataSource source;

  private Callback() {}

  public Object apply(Object question) {
    return needed().apply(question);
  }

  public static Function needed() {
    Function known = function;
    return known != null ? known : Companion.started();
  }

  /** Has nobody answer any more, unless another one does already. */
  static synchronized void forget(Function dead) {
    if (function == dead) {
      function = null;
    }
  }

  /** Makes a format known to the session of this thread, where only another one has registered. */
  public static void makeKnown(String format) {
    DataSourceManager known =
        ((SparkSession) SparkSession.active()).sessionState().dataSourceManager();
    if (source != null && !known.dataSourceExists(format)) {
      known.registerDataSource(format, source);
    }
  }
}
