package arctic.spark.catalog;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** A table that is being made, seen under its name when its rows are in it; or not at all. */
final class StagedCatalogTable extends CatalogTable implements StagedTable {
  private final Map told;

  StagedCatalogTable(String catalog, Map told) {
    super(catalog, told);
    this.told = told;
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
    Map question = new LinkedHashMap();
    question.put("ask", "settle");
    question.put("staged", told.get("staged"));
    question.put("keeps", Boolean.valueOf(keeps));
    Questions.answer(question);
  }
}
