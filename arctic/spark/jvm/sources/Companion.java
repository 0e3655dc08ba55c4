package arctic.spark;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.api.python.Py4JServer;
import org.apache.spark.sql.classic.SparkSession;

/**
 * Starts a Python beside a driver that has none: the spark-sql shell, a Thrift or Connect server.
 *
 * It speaks to this JVM as PySpark does, registers with the session that asked, and ends with its
 * standard input, so with this process, however that ends.
 */
public final class Companion implements Runnable {
  private static final String READY = "arctic: ready";
  private static final int LINES_TOLD = 8;
  /** With one of these PySpark is a client of Spark Connect, as this process may be for others. */
  private static final String[] OF_CLIENTS = new String[] {
      "SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"};

  /** Of the query that asked first; the companion makes its own from it. */
  public static volatile SparkSession session;

  private final BufferedReader said;

  private Companion(BufferedReader said) {
    this.said = said;
  }

  /** Returns what answers from now on; whoever comes meanwhile waits. */
  static synchronized Function started() {
    if (Callback.function != null) {
      return Callback.function;
    }
    session = (SparkSession) SparkSession.active();
    String python = python(session.sparkContext().conf());
    try {
      start(python);
    } catch (IOException error) {
      throw new IllegalStateException("the catalog asks Python, and " + python + " does not start: "
          + error.getMessage() + "; name one that has the package: spark.pyspark.python", error);
    }
    return Callback.function;
  }

  /** Returns the Python that PySpark would run a driver with. */
  private static String python(SparkConf conf) {
    String workers = System.getenv("PYSPARK_PYTHON");
    String fallback = conf.get("spark.pyspark.python", workers == null ? "python3" : workers);
    return conf.get("spark.pyspark.driver.python", fallback);
  }

  private static void start(String python) throws IOException {
    scala.Option before = SparkSession.getDefaultSession();
    Py4JServer server = new Py4JServer(session.sparkContext().conf());
    server.start();
    ProcessBuilder wanted = new ProcessBuilder(
        new String[] {python, "-m", "arctic.spark.companion"});
    Map variables = wanted.environment();
    for (int i = 0; i < OF_CLIENTS.length; i++) {
      variables.remove(OF_CLIENTS[i]);
    }
    variables.put("PYSPARK_GATEWAY_PORT", Integer.toString(server.getListeningPort()));
    variables.put("PYSPARK_GATEWAY_SECRET", server.secret());
    Process process = wanted.redirectErrorStream(true).start();
    BufferedReader said = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
    String[] last = new String[LINES_TOLD];
    int lines = 0;
    for (String line = said.readLine(); !READY.equals(line); line = said.readLine()) {
      if (line == null) {
        server.shutdown();
        throw new IllegalStateException("the catalog asks Python, and " + python
            + " -m arctic.spark.companion ended; install the package there, or name another by "
            + "spark.pyspark.python; it said: " + joined(last, lines));
      }
      last[lines % LINES_TOLD] = line;
      lines++;
    }
    // PySpark makes the session that it is given the default one.
    if (before.isDefined()) {
      SparkSession.setDefaultSession((SparkSession) before.get());
    }
    Thread rest = new Thread(new Companion(said), "arctic-companion-output");
    rest.setDaemon(true);
    rest.start();
  }

  private static String joined(String[] last, int lines) {
    StringBuilder text = new StringBuilder();
    for (int i = Math.max(0, lines - LINES_TOLD); i < lines; i++) {
      text.append('\n').append(last[i % LINES_TOLD]);
    }
    return text.toString();
  }

  /** Passes on what it says later: a pipe that nobody reads would stop it. */
  public void run() {
    try {
      for (String line = said.readLine(); line != null; line = said.readLine()) {
        System.err.println(line);
      }
    } catch (IOException ended) {
      // With the process.
    }
  }
}
