package arctic.spark.catalog;

import java.util.List;
import org.apache.spark.sql.classic.SparkSession;

/** Has what Spark has cached of tables made anew, as it does itself after its own writes. */
final class Recached {
  private Recached() {}

  /** Takes the name of a catalog, and names of tables in it, dotted. */
  static void tables(String catalog, List names) {
    SparkSession session = (SparkSession) SparkSession.active();
    for (int i = 0; i < names.size(); i++) {
      // A table is looked up to be made anew, for nothing where nothing is cached.
      if (!session.sharedState().cacheManager().isEmpty()) {
        session.catalog().refreshTable(quoted(catalog + "." + names.get(i)));
      }
    }
  }

  /** Returns a name as SQL has it, whatever its parts are made of. */
  private static String quoted(String name) {
    return "`" + name.replace("`", "``").replace(".", "`.`") + "`";
  }
}
