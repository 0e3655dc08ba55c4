package arctic.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.SparkConf;
import org.apache.spark.api.python.SimplePythonFunction;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.UnresolvedDataSource;
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.DataSourceManager;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;

/**
 * The format in sessions of a driver that no Python has begun: Spark looks for formats in the first
 * python3 of the PATH, whatever its configuration says.
 *
 * A read that says no warehouse is told one before a worker is asked for its columns: workers are
 * begun in folders of Spark's.
 */
public final class KnownFormat extends Trees {
  private static final int OPTIONS_FIELD = 2;
  /** The class as a pickle of protocol 0 names it; the worker imports it. */
  private static final String PICKLED = "carctic.spark.source\nArcticDataSource\n.";
  private static final String ASK_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])";

  /** Null: no session has asked yet. */
  private static UserDefinedPythonDataSource source;

  private final String format;

  private KnownFormat(String format) {
    this.format = format;
  }

  public String ruleName() {
    return "arctic.spark.KnownFormat";
  }

  public LogicalPlan inPlaceOf(LogicalPlan node) {
    if (!(node instanceof UnresolvedDataSource)
        || !format.equalsIgnoreCase((String) ((scala.Product) node).productElement(0))) {
      return null;
    }
    Map options = scala.jdk.javaapi.CollectionConverters.asJava(
        (scala.collection.Map) ((scala.Product) node).productElement(OPTIONS_FIELD));
    Map told = options.containsKey("warehouse") ? null
        : Protocol.asked(Callback.AT_USE, Protocol.place(options));
    return told == null ? node : Trees.with(node, OPTIONS_FIELD,
        CaseInsensitiveMap$.MODULE$.apply(Trees.map(Protocol.placed(told))));
  }

  private static synchronized UserDefinedPythonDataSource source(SparkConf conf)
      throws IOException {
    if (source == null) {
      String variable = System.getenv("PYSPARK_PYTHON");
      String python = conf.get("spark.pyspark.python", variable == null ? "python3" : variable);
      // Not of a process of Python that may die: nobody adds up what its tasks count.
      source = new UserDefinedPythonDataSource(new SimplePythonFunction(
          PICKLED.getBytes(StandardCharsets.US_ASCII), new HashMap(), new ArrayList(), python,
          version(python), new ArrayList(), null));
    }
    return source;
  }

  private static String version(String python) throws IOException {
    Process asked = new ProcessBuilder(new String[] {python, "-c", ASK_VERSION}).start();
    try {
      String said = new BufferedReader(
          new InputStreamReader(asked.getInputStream(), StandardCharsets.UTF_8)).readLine();
      if (said == null) {
        throw new IOException(python + " does not say its version");
      }
      return said;
    } finally {
      asked.destroy();
    }
  }

  /** Makes the format known to a session before its first query, and builds the rule. */
  static final class Install extends scala.runtime.AbstractFunction1 {
    private final String format;

    Install(String format) {
      this.format = format;
    }

    public Object apply(Object session) {
      SparkSession known = (SparkSession) session;
      DataSourceManager formats = known.sessionState().dataSourceManager();
      if (!formats.dataSourceExists(format)) {
        try {
          formats.registerDataSource(format, source(known.sparkContext().conf()));
        } catch (IOException error) {
          System.err.println("arctic: format(\"" + format + "\") is unknown, " + error.getMessage()
              + "; name a Python that has the package: spark.pyspark.python");
        }
      }
      return new KnownFormat(format);
    }
  }
}
