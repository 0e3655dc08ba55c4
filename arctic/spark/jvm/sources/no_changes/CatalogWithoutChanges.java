package arctic.spark.catalog;

/** The catalog of a Spark that asks no table for its changes. */
public final class ArcticCatalog extends CatalogOfTables {}
