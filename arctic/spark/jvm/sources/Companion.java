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
 * standard input, so with this process, however that ends. Where it ends before, the next question
 * starts another one.
 */
public final class Companion implements Runnable {
  private static final String READY = "arctic: ready";
  private static final int LINES_TOLD = 8;
  /** With one of these PySpark is a client of Spark Connect, as this process may be for others. */
  private static final String[] OF_CLIENTS = new String[] {
      "SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "SPARK_API_MODE"};

  /** Of the query that asked first; the companion makes its own from it. */
  public static volatile SparkSession session;

  private final Py4JServer server;
  private final Process process;
  private final BufferedReader said;
  /** What it answers with. */
  private Function answers;

  private Companion(Py4JServer server, Process process) {
    this.server = server;
    this.process = process;
    this.said = new BufferedReader(
        new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
  }

  /** Returns what answers from now on; whoever comes meanwhile waits. */
  static synchronized Function started() {
    Function known = Callback.function;
    if (known != null) {
      return known;
    }
    session = (SparkSession) SparkSession.active();
    String python = python(session.sparkContext().conf());
    scala.Option before = SparkSession.getDefaultSession();
    Companion made;
    try {
      made = begun(python);
    } catch (IOException error) {
      throw new IllegalStateException("the catalog asks Python, and " + python + " does not start: "
          + error.getMessage() + "; name one that has the package: spark.pyspark.python", error);
    }
    try {
      made.awaitReady(python);
    } catch (IOException error) {
      made.end();
      throw new IllegalStateException(error);
    } catch (RuntimeException error) {
      made.end();
      throw error;
    } finally {
      // PySpark makes the session that it is given the default one.
      if (before.isDefined()) {
        SparkSession.setDefaultSession((SparkSession) before.get());
      }
    }
    Thread rest = new Thread(made, "arctic-companion-output");
    rest.setDaemon(true);
    rest.start();
    return made.answers;
  }

  /** Returns the Python that PySpark would run a driver with. */
  private static String python(SparkConf conf) {
    String workers = System.getenv("PYSPARK_PYTHON");
    String fallback = conf.get("spark.pyspark.python", workers == null ? "python3" : workers);
    return conf.get("spark.pyspark.driver.python", fallback);
  }

  private static Companion begun(String python) throws IOException {
    Py4JServer server = Listening.begun(session.sparkContext().conf());
    ProcessBuilder wanted = new ProcessBuilder(
        new String[] {python, "-m", "arctic.spark.companion"});
    Map variables = wanted.environment();
    for (int i = 0; i < OF_CLIENTS.length; i++) {
      variables.remove(OF_CLIENTS[i]);
    }
    variables.put("PYSPARK_GATEWAY_PORT", Integer.toString(server.getListeningPort()));
    variables.put("PYSPARK_GATEWAY_SECRET", server.secret());
    try {
      return new Companion(server, wanted.redirectErrorStream(true).start());
    } catch (IOException error) {
      server.shutdown();
      throw error;
    }
  }

  private void awaitReady(String python) throws IOException {
    String[] last = new String[LINES_TOLD];
    int lines = 0;
    for (String line = said.readLine(); !READY.equals(line); line = said.readLine()) {
      if (line == null) {
        throw new IllegalStateException("the catalog asks Python, and " + python
            + " -m arctic.spark.companion ended; install the package there, or name another by "
            + "spark.pyspark.python; it said: " + joined(last, lines));
      }
      last[lines % LINES_TOLD] = line;
      lines++;
    }
    answers = Callback.function;
    if (answers == null) {
      throw new IllegalStateException("the catalog asks Python, and " + python
          + " -m arctic.spark.companion answers no catalog; install the package there that the jar "
          + "of spark.driver.extraClassPath is of; it said: " + joined(last, lines));
    }
  }

  private static String joined(String[] last, int lines) {
    StringBuilder text = new StringBuilder();
    for (int i = Math.max(0, lines - LINES_TOLD); i < lines; i++) {
      text.append('\n').append(last[i % LINES_TOLD]);
    }
    return text.toString();
  }

  /** Passes on what it says later, for a pipe that nobody reads would stop it; until it ends. */
  public void run() {
    try {
      for (String line = said.readLine(); line != null; line = said.readLine()) {
        System.err.println(line);
      }
    } catch (IOException ended) {
      // With the process.
    }
    Callback.forget(answers);
    end();
  }

  private void end() {
    process.destroy();
    server.shutdown();
  }

  /**
   * Makes the server, whose threads are then none that a JVM waits for before it ends.
   *
   * They are of the kind of whoever makes it. Under spark-submit that may be a thread of the other
   * kind, and then program and companion would wait for each other.
   */
  private static final class Listening implements Runnable {
    private final SparkConf conf;
    private Py4JServer server;
    private RuntimeException failed;

    private Listening(SparkConf conf) {
      this.conf = conf;
    }

    static Py4JServer begun(SparkConf conf) throws IOException {
      Listening listening = new Listening(conf);
      Thread thread = new Thread(listening, "arctic-companion-server");
      thread.setDaemon(true);
      thread.start();
      try {
        thread.join();
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IOException(error);
      }
      if (listening.failed != null) {
        throw listening.failed;
      }
      return listening.server;
    }

    public void run() {
      try {
        server = new Py4JServer(conf);
        server.start();
      } catch (RuntimeException error) {
        failed = error;
      }
    }
  }
}
