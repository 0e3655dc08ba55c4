package arctic.spark.catalog;

import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** A table that is being made, seen under its name when its rows are in it; or not at all. */
final class StagedCatalogTable extends CatalogTable implements StagedTable {
  private final String staged;

  StagedCatalogTable(String catalog, CatalogProtocol.TableAnswer told) {
    super(catalog, told);
    this.staged = told.staged;
  }

  boolean isNew() {
    return true;
  }

  public void commitStagedChanges() {
    settle(true);
  }

  public void abortStagedChanges() {
    settle(false);
  }

  /** Of two parents that both say it, so that it must be said here. */
  public CustomTaskMetric[] reportDriverMetrics() {
    return new CustomTaskMetric[0];
  }

  private void settle(boolean keeps) {
    Answers.to(CatalogQuestions.settle(staged, keeps));
  }
}
