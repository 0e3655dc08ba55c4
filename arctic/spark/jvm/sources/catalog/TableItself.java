package arctic.spark.catalog;

import arctic.spark.ArcticTable;

/** A table that equals nothing else, so that Spark takes no cached rows of another for its own. */
class TableItself extends CatalogTable {
  TableItself(CatalogTable same) {
    super(same);
  }

  /** Takes what its scans are of. */
  TableItself(CatalogTable same, ArcticTable scans) {
    super(same, scans);
  }

  final boolean isCached() {
    return false;
  }

  public final boolean equals(Object other) {
    return this == other;
  }

  public final int hashCode() {
    return System.identityHashCode(this);
  }
}
