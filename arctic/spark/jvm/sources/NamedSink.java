package arctic.spark;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import org.apache.spark.sql.catalyst.encoders.ExpressionEncoder;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.DataStreamWriter;
import org.apache.spark.sql.execution.streaming.sources.ForeachBatchSink;
import scala.Function2;
import scala.Option;

/**
 * The sink of foreachBatch under a name of its own: Spark calls each of them ForeachBatchSink, in
 * the progress of a query, on its page and to its listeners.
 *
 * <p>Private names of Spark stand only in {@link Starter}.
 */
public final class NamedSink extends ForeachBatchSink {
  private final String description;

  NamedSink(Function2 writer, ExpressionEncoder encoder, String description) {
    super(writer, encoder);
    this.description = description;
  }

  public String toString() {
    return description;
  }

  /** Starts queries in place of Spark's own builder. */
  public static final class Starter {
    public Starter() {}

    /** Returns the query of a writer that has a function for its batches; null: Spark has changed. */
    public Object start(DataStreamWriter writer, String description) throws Throwable {
      Object[] arguments;
      Method start;
      try {
        Dataset rows = (Dataset) field(writer, "ds");
        Function2 function = (Function2) field(writer, "foreachBatchWriter");
        NamedSink sink = new NamedSink(function, rows.exprEnc(), description);
        if (field(writer, "trigger").getClass().getName().endsWith("ContinuousTrigger")) {
          return null; // Spark's own start says why it cannot be.
        }
        Object options = field(writer, "extraOptions");
        start = startQuery();
        arguments = new Object[] {sink, options, Boolean.TRUE, Option.empty(), Option.empty()};
      } catch (ReflectiveOperationException error) {
        return null;
      }
      try {
        return start.invoke(writer, arguments);
      } catch (InvocationTargetException error) {
        throw error.getCause();
      }
    }

    private static Method startQuery() throws NoSuchMethodException {
      Method[] methods = DataStreamWriter.class.getDeclaredMethods();
      for (int i = 0; i < methods.length; i++) {
        if (methods[i].getName().equals("startQuery") && methods[i].getParameterCount() == 5) {
          methods[i].setAccessible(true);
          return methods[i];
        }
      }
      throw new NoSuchMethodException("startQuery");
    }

    private static Object field(DataStreamWriter writer, String name)
        throws ReflectiveOperationException {
      Field found = DataStreamWriter.class.getDeclaredField(name);
      found.setAccessible(true);
      return found.get(writer);
    }
  }
}
