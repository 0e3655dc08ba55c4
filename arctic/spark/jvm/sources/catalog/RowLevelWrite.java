package arctic.spark.catalog;

import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What becomes of the rows of a command, as a frame, handed to Python, which commits it once. */
final class RowLevelWrite implements WriteBuilder, V1Write, InsertableRelation {
  private final CatalogTable table;
  private final CaseInsensitiveStringMap options;
  private final Map command;

  RowLevelWrite(CatalogTable table, CaseInsensitiveStringMap options, Map command) {
    this.table = table;
    this.options = options;
    this.command = command;
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
    Answers.to(CatalogQuestions.rowLevel(options.asCaseSensitiveMap(), command), frame);
  }
}
