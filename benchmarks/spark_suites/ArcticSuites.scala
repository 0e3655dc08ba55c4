// Spark's own suites, with Arctic's catalog where they have one in memory. Their tests, rows and
// comparisons stay as they are; what asks the catalog in memory how it was written to is left out.
package org.apache.spark.sql.connector

import java.nio.file.{Files, Paths}

import scala.jdk.CollectionConverters._

import org.scalactic.source.Position
import org.scalatest.Tag

import org.apache.spark.SparkConf
import org.apache.spark.sql.{DataFrame, SaveMode}
import org.apache.spark.sql.connector.catalog.{Column, InMemoryRowLevelOperationTableCatalog, SupportsNamespaces, Table, TableCatalog, TableInfo}
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.connector.expressions.LogicalExpressions.{identity, reference}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.test.SharedSparkSession
import org.apache.spark.sql.types.StructType

/** A session whose catalog `cat` is Arctic's, with an empty namespace before each test. */
trait OnArctic extends SharedSparkSession {
  /** What `arctic spark-conf` prints. */
  private def arcticConf: Seq[(String, String)] =
    Files.readAllLines(Paths.get(sys.props("arctic.conf"))).asScala.toSeq
      .map(_.split(" ", 2)).map(words => words(0) -> words(1))

  override protected def sparkConf: SparkConf =
    super.sparkConf.setAll(arcticConf).set("spark.ui.enabled", "false")

  protected def arcticCatalog: TableCatalog with SupportsNamespaces =
    spark.sessionState.catalogManager.catalog("cat")
      .asInstanceOf[TableCatalog with SupportsNamespaces]

  private def begin(): Unit = {
    spark.sessionState.catalogManager.reset()
    arcticConf.filter(_._1.startsWith("spark.sql.catalog.")).foreach { case (name, value) =>
      spark.conf.set(name, value)
    }
    val all = Array("ns1")
    if (arcticCatalog.namespaceExists(all)) {
      arcticCatalog.listTables(all).foreach(arcticCatalog.dropTable)
    } else {
      arcticCatalog.createNamespace(all, java.util.Map.of())
    }
  }

  override protected def test(name: String, tags: Tag*)(body: => Any)(
      implicit position: Position): Unit = {
    super.test(name, tags: _*) {
      begin()
      try body finally end()
    }
  }

  /** What a suite does after each test is for its own catalog. */
  private def end(): Unit = {
    spark.sessionState.catalogManager.reset()
    spark.conf.set("spark.sql.catalog.cat", classOf[InMemoryRowLevelOperationTableCatalog].getName)
  }
}

/** Commands on rows: tables are made in Arctic's catalog, and looked into by queries alone. */
trait RowsOnArctic extends RowLevelOperationSuiteBase with OnArctic {
  /** The key of the tables that have none of their own. */
  protected def key: Option[String] = None

  override protected def createTable(columns: Array[Column]): Unit = {
    val partitions = Array[Transform](identity(reference(Seq("dep"))))
    val keyed = key.filter(name => columns.exists(_.name == name))
    val properties = keyed.map("primaryKey" -> _).toMap.asJava
    arcticCatalog.createTable(ident, new TableInfo.Builder()
      .withColumns(columns).withPartitions(partitions).withProperties(properties).build())
  }

  override protected def checkReplacedPartitions(expected: Seq[Any]): Unit = ()

  override protected def checkLastWriteInfo(
      rows: StructType, ids: Option[StructType], metadata: Option[StructType]): Unit = ()

  override protected def checkLastWriteLog(expected: WriteLogEntry*): Unit = ()

  override protected def executeAndCheckScan(query: String, schema: String): Unit = sql(query)

  override protected def executeAndCheckScans(
      query: String, primary: String, groups: Option[String]): Unit = sql(query)
}

trait DeletesOnArctic extends DeleteFromTableSuiteBase with RowsOnArctic {
  override protected def checkDeleteMetrics(deleted: Long, copied: Long): Unit = ()
}

trait UpdatesOnArctic extends UpdateTableSuiteBase with RowsOnArctic {
  override protected def checkUpdateMetrics(updated: Long, copied: Long): Unit = ()
}

class ArcticDelete extends DeltaBasedDeleteFromTableSuite with DeletesOnArctic
class ArcticUpdate extends DeltaBasedUpdateTableSuite with UpdatesOnArctic
class ArcticMerge extends DeltaBasedMergeIntoTableSuite with RowsOnArctic
class ArcticMergeFrame extends MergeIntoDataFrameSuite with RowsOnArctic

/** The same on tables with a key. */
trait Keyed extends RowsOnArctic {
  override protected def key: Option[String] = Some("pk")
}

class ArcticKeyedDelete extends DeltaBasedDeleteFromTableSuite with DeletesOnArctic with Keyed
class ArcticKeyedUpdate extends DeltaBasedUpdateTableSuite with UpdatesOnArctic with Keyed
class ArcticKeyedMerge extends DeltaBasedMergeIntoTableSuite with Keyed
class ArcticKeyedMergeFrame extends MergeIntoDataFrameSuite with Keyed

trait InsertsOnArctic extends InsertIntoTests with OnArctic {
  override protected def checkInsertMetrics(table: String, inserted: Long): Unit = ()
}

/** INSERT by statements. */
class ArcticInsert
    extends InsertIntoTests(supportsDynamicOverwrite = true, includeSQLOnlyTests = true)
    with InsertsOnArctic {
  override protected val catalogAndNamespace: String = "cat.ns1."
  override protected val v2Format: String = "arctic"

  override def verifyTable(table: String, expected: DataFrame): Unit =
    checkAnswer(spark.table(table), expected)

  override protected def doInsert(table: String, rows: DataFrame, mode: SaveMode): Unit =
    withTempView("rows_to_insert") {
      rows.createOrReplaceTempView("rows_to_insert")
      val verb = if (mode == SaveMode.Overwrite) "OVERWRITE" else "INTO"
      sql(s"INSERT $verb TABLE $table SELECT * FROM rows_to_insert")
    }
}

/** The same by frames. */
class ArcticInsertFrame
    extends InsertIntoTests(supportsDynamicOverwrite = true, includeSQLOnlyTests = false)
    with InsertsOnArctic {
  override protected val catalogAndNamespace: String = "cat.ns1."
  override protected val v2Format: String = "arctic"

  override def verifyTable(table: String, expected: DataFrame): Unit =
    checkAnswer(spark.table(table), expected)

  override protected def doInsert(table: String, rows: DataFrame, mode: SaveMode): Unit = {
    val writer = rows.write
    if (mode != null) writer.mode(mode)
    writer.insertInto(table)
  }
}

/** ALTER TABLE. */
class ArcticAlter extends AlterTableTests with OnArctic {
  override protected val catalogAndNamespace: String = "cat.ns1."
  override protected val v2Format: String = "arctic"

  override def getTableMetadata(name: String): Table =
    arcticCatalog.loadTable(Identifier.of(Array("ns1"), name.split('.').last))
}
