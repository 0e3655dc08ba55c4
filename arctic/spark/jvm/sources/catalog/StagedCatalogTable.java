package arctic.spark.catalog;

import java.util.Map;
import org.apache.spark.sql.connector.catalog.StagedTable;

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

  private void settle(boolean keeps) {
    Map question = new java.util.LinkedHashMap();
    question.put("ask", "settle");
    question.put("staged", told.get("staged"));
    question.put("keeps", Boolean.valueOf(keeps));
    Questions.answer(question);
  }
}
