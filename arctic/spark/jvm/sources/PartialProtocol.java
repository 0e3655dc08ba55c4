package arctic.spark;

import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/** What the JVM asks Python of aggregates that tasks make: see partial_protocol.py. */
public final class PartialProtocol {
  private PartialProtocol() {}

  /** Returns the question whether tasks make aggregates; query and pin may be null. */
  public static Map partial(Map options, StructType relation, StructType yields, List keys,
      List aggregates, List averaged, List hints, boolean floats, int parallelism, String query,
      String pin) {
    Map question = new LinkedHashMap();
    question.put("ask", "partial");
    question.put("options", options);
    question.put("schema", Protocol.fields(relation.json()));
    question.put("yields", Protocol.fields(yields.json()));
    question.put("keys", keys);
    question.put("aggregates", aggregates);
    question.put("averaged", averaged);
    question.put("hints", hints);
    question.put("floats", Boolean.valueOf(floats));
    question.put("parallelism", Integer.valueOf(parallelism));
    question.put("query", query);
    question.put("pin", pin);
    return question;
  }

  /** Has a question be of the state that its answer is of, as the next one of the query will be. */
  static void pin(Map question, PartialAnswer told) {
    question.put("pin", told.pin);
  }

  /** Returns the question what tasks do of a query that begins. */
  public static Map begin(List plan) {
    Map question = new LinkedHashMap();
    question.put("ask", "begin");
    question.put("plan", plan);
    return question;
  }

  /** They do. */
  public static final class PartialAnswer {
    public final String pin;
    /** Of all data files that tasks read, all their columns. */
    public final long sizeBytes;
    /** In them, deleted ones too. */
    public final long rows;
    /** What asks for them when the query begins. */
    public final List plan;

    public PartialAnswer(Map told) {
      pin = (String) Protocol.needed(told, "pin");
      sizeBytes = ((Number) Protocol.needed(told, "size_bytes")).longValue();
      rows = ((Number) Protocol.needed(told, "rows")).longValue();
      plan = (List) Protocol.needed(told, "plan");
    }
  }

  /** How executors make them. */
  public static final class BeginAnswer {
    /** What a worker runs on the partitions. */
    public final byte[] function;
    /** Each pickled. */
    public final List partitions;

    public BeginAnswer(Map told) {
      function = Base64.getDecoder().decode((String) Protocol.needed(told, "function"));
      List pickled = (List) Protocol.needed(told, "partitions");
      partitions = new ArrayList();
      for (int i = 0; i < pickled.size(); i++) {
        partitions.add(Base64.getDecoder().decode((String) pickled.get(i)));
      }
    }
  }
}
