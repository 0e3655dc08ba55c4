package arctic.spark.catalog;

import arctic.spark.Hints;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The rows of a write as a frame, handed to the Python of the session, which saves it. */
final class FrameWrite implements WriteBuilder, V1Write, InsertableRelation, SupportsOverwriteV2 {
  private final String name;
  private final CaseInsensitiveStringMap options;
  /** States in which the query has read the table already. */
  private final List seen;
  /** Whether a statement names the tables that its rows are of. */
  private final boolean isStatement;
  /** Null: nothing is replaced. */
  private String replaces;
  /** Null: what is replaced needs no condition. */
  private List where;

  FrameWrite(String name, CaseInsensitiveStringMap options, List seen, boolean isStatement) {
    this.name = name;
    this.options = options;
    this.seen = seen;
    this.isStatement = isStatement;
  }

  public WriteBuilder truncate() {
    replaces = "table";
    return this;
  }

  public WriteBuilder overwrite(Predicate[] predicates) {
    replaces = "where";
    where = new ArrayList();
    for (int i = 0; i < predicates.length; i++) {
      List hint = Hints.of(predicates[i]);
      if (hint == null) {
        throw new IllegalArgumentException("overwrite of " + name + " where "
            + predicates[i] + ": expected comparisons of columns with values");
      }
      where.add(hint);
    }
    return this;
  }

  public Write build() {
    return this;
  }

  public InsertableRelation toInsertableRelation() {
    return this;
  }

  public String description() {
    return "(Arctic) " + name;
  }

  public void insert(Dataset frame, boolean unused) {
    Map question = new LinkedHashMap();
    question.put("ask", "save");
    question.put("options", options.asCaseSensitiveMap());
    question.put("replaces", replaces);
    question.put("where", where);
    question.put("pins", seen);
    question.put("is_statement", Boolean.valueOf(isStatement));
    Questions.answer(question, frame);
  }
}
