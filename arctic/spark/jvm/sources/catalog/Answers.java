package arctic.spark.catalog;

import arctic.spark.Callback;
import arctic.spark.Protocol;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.NamespaceAlreadyExistsException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.NonEmptyNamespaceException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.unsafe.Platform;

/**
 * Asks Python what a catalog wants to know.
 *
 * A failure comes back with its kind, and is thrown as what Spark's contract says.
 */
public final class Answers {
  private Answers() {}

  /** Asks; what fails is thrown, also what the method that asks does not declare. */
  public static Map to(Map question) {
    return checked(Callback.needed().apply(Protocol.json(question)),
        CatalogQuestions.name(question));
  }

  /** Hands a frame to Python together with a question. */
  public static Map to(Map question, Object frame) {
    List both = new ArrayList();
    both.add(Protocol.json(question));
    both.add(frame);
    return checked(Callback.needed().apply(both), CatalogQuestions.name(question));
  }

  private static Map checked(Object answer, List name) {
    if (answer instanceof Throwable) {
      Platform.throwException((Throwable) answer);
    }
    Map told = Protocol.fields((String) answer);
    String error = CatalogProtocol.error(told);
    if (error != null) {
      // Rows are saved by the options of a table; a failure of that names it in its text.
      String[] parts = name == null ? null : (String[]) name.toArray(new String[0]);
      Platform.throwException(thrown(CatalogProtocol.kind(told), error, parts));
    }
    return told;
  }

  /** Returns a failure as Spark calls it. */
  public static Throwable thrown(String kind, String error, String[] name) {
    if ("no_such_table".equals(kind)) {
      return new NoSuchTableException(identifier(name));
    }
    if ("table_exists".equals(kind)) {
      return new TableAlreadyExistsException(identifier(name));
    }
    if ("no_such_namespace".equals(kind)) {
      return new NoSuchNamespaceException(name);
    }
    if ("namespace_exists".equals(kind)) {
      return new NamespaceAlreadyExistsException(name);
    }
    if ("namespace_not_empty".equals(kind)) {
      return new NonEmptyNamespaceException(name);
    }
    if ("merge_cardinality".equals(kind)) {
      return new SparkRuntimeException("MERGE_CARDINALITY_VIOLATION",
          (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(),
          new IllegalArgumentException(error), new QueryContext[0], "");
    }
    scala.Option none = scala.Option.empty();
    return new AnalysisException(error, none, none, none, none,
        (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(),
        new QueryContext[0]);
  }

  private static Identifier identifier(String[] name) {
    return Identifier.of((String[]) Arrays.copyOf(name, name.length - 1), name[name.length - 1]);
  }
}
