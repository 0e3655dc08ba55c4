package arctic.spark.catalog;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.sources.InsertableRelation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** What becomes of the rows of a command, as a frame, handed to Python, which commits it once. */
final class RowLevelWrite implements WriteBuilder, V1Write, InsertableRelation {
  private final CatalogTable table;
  private final CaseInsensitiveStringMap options;
  private final CommandPlan plan;

  RowLevelWrite(CatalogTable table, CaseInsensitiveStringMap options, CommandPlan plan) {
    this.table = table;
    this.options = options;
    this.plan = plan;
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
    SparkSession session = (SparkSession) frame.sparkSession();
    if (plan.small() != null && CatalogProtocol.found(Answers.to(
        CatalogQuestions.rowLevel(options.asCaseSensitiveMap(), plan.toldOfSource()),
        Dataset$.MODULE$.ofRows(session, plan.small().rows)))) {
      return;
    }
    SoughtRows sought = plan.sought();
    LogicalPlan values = sought == null || !sought.isOpen() ? null
        : SmallSource.values(sought.source, session);
    HeldSource held = values != null || sought == null || !sought.isOpen() ? null
        : HeldSource.of(sought, options.asCaseSensitiveMap(), session);
    try {
      SoughtRows known = held != null ? held.sought
          : values != null ? sought.withSource(values) : null;
      LogicalPlan narrow = known == null ? null
          : known.narrowed(frame.queryExecution().logical(), sought);
      Answers.to(
          CatalogQuestions.rowLevel(options.asCaseSensitiveMap(),
              plan.told(narrow == null ? sought : known)),
          narrow == null ? frame : Dataset$.MODULE$.ofRows(session, narrow));
    } finally {
      if (held != null) {
        held.letGo();
      }
    }
  }
}
