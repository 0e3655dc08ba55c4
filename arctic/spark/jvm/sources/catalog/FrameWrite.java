package arctic.spark.catalog;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsTruncate;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The rows of a write as a frame, handed to the Python of the session, which saves it. */
final class FrameWrite implements WriteBuilder, V1Write, InsertableRelation, SupportsTruncate,
    SupportsDynamicOverwrite {
  private final CatalogTable table;
  private final CaseInsensitiveStringMap options;
  /** Null: nothing is replaced. */
  private String replaces;

  FrameWrite(CatalogTable table, CaseInsensitiveStringMap options) {
    this.table = table;
    this.options = options;
  }

  public WriteBuilder truncate() {
    replaces = "table";
    return this;
  }

  public WriteBuilder overwriteDynamicPartitions() {
    replaces = "partitions";
    return this;
  }

  public Write build() {
    return this;
  }

  public InsertableRelation toInsertableRelation() {
    return this;
  }

  public String description() {
    return "(Arctic) " + table.name();
  }

  public void insert(Dataset frame, boolean unused) {
    Map question = new LinkedHashMap();
    question.put("ask", "save");
    question.put("options", options.asCaseSensitiveMap());
    question.put("replaces", replaces);
    Questions.answer(question, frame);
  }
}
