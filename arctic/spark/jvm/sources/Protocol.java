package arctic.spark;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.types.MetadataBuilder;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * What the JVM asks Python, and how Python answers: the other half of protocol.py.
 *
 * A question is JSON whose "ask" says which it is. The answer has the fields of that question's
 * answer, or an "error"; null: Spark does without. A golden file holds both halves to the same words.
 *
 * A worker that plans a scan is asked by the metadata of the first column that it must return, and
 * answers by an input partition in front of the others: Spark offers no other way.
 */
public final class Protocol {
  public static final String QUESTION_KEY = "arctic.question";
  private static final String OPENS = "<answer>";
  private static final String CLOSES = "</answer>";
  private static final ObjectMapper JSON = new ObjectMapper();

  private Protocol() {}

  /** Returns the question for the options of a view with their warehouse written out. */
  public static Map place(Map options) {
    Map question = question("place");
    question.put("options", options);
    return question;
  }

  /** Returns the question for a plan of a scan of these columns. */
  public static Map plan(Map options, StructType columns, Map scan) {
    Map question = question("plan");
    question.put("options", options);
    question.put("schema", fields(columns.json()));
    question.put("scan", scan);
    return question;
  }

  /** Returns what a scan knows of its query; query, pin, limit and groups may be null. */
  public static Map scan(List hints, int parallelism, String query, String pin,
      boolean sparkReads, boolean takesVectors, boolean takesGroups, Integer limit, List groups,
      List required) {
    Map scan = new LinkedHashMap();
    scan.put("hints", hints);
    scan.put("parallelism", Integer.valueOf(parallelism));
    scan.put("query", query);
    scan.put("pin", pin);
    scan.put("spark_reads", Boolean.valueOf(sparkReads));
    scan.put("takes_vectors", Boolean.valueOf(takesVectors));
    scan.put("takes_groups", Boolean.valueOf(takesGroups));
    scan.put("limit", limit);
    scan.put("groups", groups);
    scan.put("required", required);
    return scan;
  }

  /** Returns a column, as an operand of a hint; columns within columns have none. */
  public static Map column(String name) {
    return Collections.singletonMap("column", name);
  }

  /** Returns a literal, as an operand of a hint: a truth value, a number or a text. */
  public static Map value(Object value) {
    return Collections.singletonMap("value", value);
  }

  public static Map decimal(Object value) {
    return Collections.singletonMap("decimal", value.toString());
  }

  public static Map binary(byte[] value) {
    return Collections.singletonMap("binary", Base64.getEncoder().encodeToString(value));
  }

  /** Returns the question for aggregates over all rows of a relation; query and pin may be null. */
  public static Map aggregates(Map options, StructType relation, List aggregates, String query,
      String pin) {
    Map question = question("aggregates");
    question.put("options", options);
    question.put("schema", fields(relation.json()));
    question.put("aggregates", aggregates);
    question.put("query", query);
    question.put("pin", pin);
    return question;
  }

  /** Returns the question for the dead rows of a share of the files that a plan told of. */
  public static Map deadRows(List work) {
    Map question = question("dead_rows");
    question.put("work", work);
    return question;
  }

  /** Asks the process of the session; null: it is not there, or Spark does without. */
  public static Map asked(Function planner, Map question) {
    String answer;
    try {
      answer = planner == null ? null : (String) planner.apply(json(question));
    } catch (RuntimeException unreachable) {
      return null;
    }
    return answer == null ? null : checked(fields(answer));
  }

  /** Asks what must be known; an error, where it cannot be asked too, is the query's. */
  public static Map demanded(Function planner, Map question) {
    return checked(fields((String) planner.apply(json(question))));
  }

  /** Returns the columns of a scan, with what it asks a worker. */
  public static StructType asking(StructType columns, Map scan) {
    StructField first = columns.apply(0);
    StructField[] fields = (StructField[]) columns.fields().clone();
    fields[0] = new StructField(first.name(), first.dataType(), first.nullable(),
        new MetadataBuilder().putString(QUESTION_KEY, json(scan)).build());
    return new StructType(fields);
  }

  /** Returns what a worker answered, from the pickled text that is its first partition. */
  public static ScanAnswer answered(byte[] pickled) {
    String text = new String(pickled, StandardCharsets.ISO_8859_1);
    int start = text.indexOf(OPENS) + OPENS.length();
    return new ScanAnswer(fields(text.substring(start, text.indexOf(CLOSES, start))));
  }

  /** What a scan is told of its plan. */
  public static final class ScanAnswer {
    /** The state of the table, for the other scans of the query; empty: nothing is pinned. */
    public final String pin;
    /** Of all data files that are read, all their columns. */
    public final long sizeBytes;
    /** In them, deleted ones too; null: not known. */
    public final Long rows;
    /** Partitions that must be merged; those after them hold the files below. */
    public final int merged;
    /** Files that Spark may read itself; those with deletes come first. */
    public final List paths;
    /** Of the columns of the scan, by which they are found in these files. */
    public final List fieldIds;
    /** Rows of each file that has deletes. */
    public final List rowCounts;
    /** What asks for the dead rows of these, in shares; null: all are clean. */
    public final List work;
    /** Whether pages are compared with their checksums. */
    public final boolean verifiesPages;
    /** Of Hadoop, by which the files are reached; keys among them. */
    public final Map settings;
    /** Why Spark is given no files, or not all; null: nothing hinders. */
    public final String hindrance;
    /** What the scan could be planned in, as KeyGroupsAsked tells it; empty where it takes none. */
    public final List groupings;
    /** Of each path, where groups were asked for; else empty. */
    public final List fileGroups;

    public ScanAnswer(Map told) {
      pin = (String) needed(told, "pin");
      sizeBytes = ((Number) needed(told, "size_bytes")).longValue();
      rows = told.get("rows") == null ? null
          : Long.valueOf(((Number) told.get("rows")).longValue());
      merged = ((Number) needed(told, "merged")).intValue();
      paths = (List) needed(told, "paths");
      fieldIds = (List) needed(told, "field_ids");
      rowCounts = (List) needed(told, "row_counts");
      work = (List) told.get("work");
      verifiesPages = ((Boolean) needed(told, "verifies_pages")).booleanValue();
      settings = (Map) needed(told, "settings");
      hindrance = (String) told.get("hindrance");
      fileGroups = (List) needed(told, "file_groups");
      groupings = (List) needed(told, "groupings");
    }
  }

  /** How executors read what the process of the session has planned. */
  public static final class PlanAnswer {
    /** What a worker runs on the partitions. */
    public final byte[] function;
    /** Each pickled. */
    public final List partitions;
    public final ScanAnswer scan;

    public PlanAnswer(Map told) {
      function = bytes(needed(told, "function"));
      List pickled = (List) needed(told, "partitions");
      partitions = new ArrayList();
      for (int i = 0; i < pickled.size(); i++) {
        partitions.add(bytes(pickled.get(i)));
      }
      scan = new ScanAnswer((Map) needed(told, "scan"));
    }
  }

  /** What metadata says of all rows. */
  public static final class AggregatesAnswer {
    /** One for each aggregate: null, a number, or a decimal as its text. */
    public final List values;
    public final String pin;

    public AggregatesAnswer(Map told) {
      values = (List) needed(told, "values");
      pin = (String) needed(told, "pin");
    }
  }

  /** Returns the options of the answer to place. */
  public static Map placed(Map told) {
    return (Map) needed(told, "options");
  }

  /** Returns the texts of the answer to dead_rows: bits in base64, each file's in whole bytes. */
  public static List bits(Map told) {
    return (List) needed(told, "bits");
  }

  public static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Map question(String ask) {
    Map question = new LinkedHashMap();
    question.put("ask", ask);
    return question;
  }

  public static Map fields(String json) {
    try {
      return (Map) JSON.readValue(json, Map.class);
    } catch (JsonProcessingException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private static Map checked(Map told) {
    if (told.get("error") != null) {
      throw new IllegalArgumentException((String) told.get("error"));
    }
    return told;
  }

  /** Returns a field that an answer must have. */
  public static Object needed(Map told, String field) {
    Object value = told.get(field);
    if (value == null) {
      throw new IllegalStateException("an answer of Python's without '" + field + "'");
    }
    return value;
  }

  private static byte[] bytes(Object base64) {
    return Base64.getDecoder().decode((String) base64);
  }
}
