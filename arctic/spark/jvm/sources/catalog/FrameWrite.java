package arctic.spark.catalog;

import arctic.spark.Hints;
import java.util.ArrayList;
import java.util.List;
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
  /** Whether the table was made for these rows. */
  private final boolean isNew;
  /** Whether rows are replaced, and not added alone. */
  private boolean overwrites;
  /** Conditions of what is replaced; null: it needs none. */
  private List where;

  FrameWrite(String name, CaseInsensitiveStringMap options, List seen, boolean isStatement,
      boolean isNew) {
    this.name = name;
    this.options = options;
    this.seen = seen;
    this.isStatement = isStatement;
    this.isNew = isNew;
  }

  public WriteBuilder truncate() {
    overwrites = true;
    return this;
  }

  public WriteBuilder overwrite(Predicate[] predicates) {
    overwrites = true;
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
    Answers.to(CatalogQuestions.save(
        options.asCaseSensitiveMap(), overwrites, where, seen, isStatement, isNew), frame);
  }
}
