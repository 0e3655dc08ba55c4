package arctic.spark;

import org.apache.spark.sql.connector.catalog.Table;

/** A table whose scans may filter by themselves: see FilteredAggregates. */
public interface TakesFilters {
  /** Returns this table for a plan that only goes on if tasks make its aggregates. */
  Table takingFilters();
}
