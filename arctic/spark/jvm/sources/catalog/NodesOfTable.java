package arctic.spark.catalog;

import java.util.List;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** A table of which rows of some nodes alone are wanted; Spark takes it for no other one. */
final class NodesOfTable extends TableItself {
  private final List nodes;

  /** Takes the nodes as a hint for scans. */
  NodesOfTable(CatalogTable same, List nodes) {
    super(same);
    this.nodes = nodes;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return newScanBuilder(options, nodes);
  }
}
