package arctic.spark.catalog;

import arctic.spark.ArcticTable;
import arctic.spark.Callback;
import arctic.spark.Pins;
import arctic.spark.Trees;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.classic.Dataset;
import org.apache.spark.sql.classic.Dataset$;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Frames that read a table where Spark would take what it has cached of it, perhaps of an older
 * state: what is written to a table must be made of the rows that it has.
 *
 * What is cached is computed again from what it is made of. A table in there is another object than
 * the one in the cache, so that Spark does not find it there once more.
 */
public final class Uncached implements Function {
  /** Nodes that yield other rows when they are asked again. */
  private static final List ANY_ROWS = Arrays.asList(
      new String[] {"Sample", "GlobalLimit", "LocalLimit", "Offset", "Tail"});
  private final String path;

  /** Takes what options of a read call the table. */
  public Uncached(String path) {
    this.path = path;
  }

  /** Returns the frame, or one that reads the table; null: its rows would not be the same ones. */
  public Object apply(Object given) {
    Dataset frame = (Dataset) given;
    SparkSession session = (SparkSession) frame.sparkSession();
    // A copy: the user's own frame would keep the plan, and never see what is cached later.
    LogicalPlan plan = Dataset$.MODULE$.ofRows(session, frame.queryExecution().analyzed())
        .queryExecution().withCachedData();
    Again again = new Again(path);
    LogicalPlan read = (LogicalPlan) plan.transformDownWithSubqueries(again);
    if (!again.isRepeatable) {
      return null;
    }
    return again.hasFound ? Dataset$.MODULE$.ofRows(session, read) : frame;
  }

  /** Says whether a plan takes what is cached of a table. */
  static boolean takes(LogicalPlan plan, CatalogTable table) {
    Again again = new Again(placed(table).get("path"));
    plan.transformDownWithSubqueries(again);
    return again.hasFound;
  }

  /** Says whether a plan reads a table as it is now, by its name in some catalog or by its path. */
  static boolean reads(LogicalPlan plan, CatalogTable table) {
    if (isOf(plan, placed(table).get("path"))) {
      return true;
    }
    for (int i = 0; i < plan.children().length(); i++) {
      if (reads((LogicalPlan) plan.children().apply(i), table)) {
        return true;
      }
    }
    return false;
  }

  private static CaseInsensitiveStringMap placed(CatalogTable table) {
    return table.with(new CaseInsensitiveStringMap(new HashMap()));
  }

  /** By its name in a catalog or by its path, as it is now. */
  private static boolean isOf(LogicalPlan node, String path) {
    if (!(node instanceof DataSourceV2Relation)) {
      return false;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) node;
    if (relation.table() instanceof CatalogTable) {
      return Pins.isNewest(placed((CatalogTable) relation.table()), path);
    }
    return relation.table() instanceof PythonTable && Pins.isNewest(relation.options(), path);
  }

  /** Puts what cached rows were made of in their place, where that reads the table. */
  private static final class Again extends scala.runtime.AbstractPartialFunction {
    private final String path;
    boolean hasFound;
    boolean isRepeatable = true;

    Again(String path) {
      this.path = path;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof InMemoryRelation;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      if (!isDefinedAt(node)) {
        return otherwise.apply(node);
      }
      InMemoryRelation cached = (InMemoryRelation) node;
      LogicalPlan made = cached.cacheBuilder().logicalPlan();
      Fresh fresh = new Fresh(path);
      LogicalPlan read = (LogicalPlan) made.transformDownWithSubqueries(fresh);
      if (!fresh.hasFound) {
        return node;
      }
      hasFound = true;
      isRepeatable = isRepeatable && !fresh.hasAnyRows && made.deterministic();
      List columns = new ArrayList();
      for (int i = 0; i < cached.output().length(); i++) {
        Attribute column = (Attribute) cached.output().apply(i);
        columns.add(new Alias((Expression) read.output().apply(i), column.name(), column.exprId(),
            CommandRows.nothing(), scala.Option.empty(), CommandRows.nothing()));
      }
      return new Project(Trees.seq(columns), read);
    }
  }

  /** Puts the table in the place of the one that is cached, and notes what is beside it. */
  private static final class Fresh extends scala.runtime.AbstractPartialFunction {
    private final String path;
    boolean hasFound;
    boolean hasAnyRows;

    Fresh(String path) {
      this.path = path;
    }

    public boolean isDefinedAt(Object node) {
      return node instanceof LogicalPlan;
    }

    public Object applyOrElse(Object node, scala.Function1 otherwise) {
      LogicalPlan plan = (LogicalPlan) node;
      hasAnyRows = hasAnyRows || ANY_ROWS.contains(plan.getClass().getSimpleName());
      if (!isOf(plan, path)) {
        return node;
      }
      hasFound = true;
      Table table = ((DataSourceV2Relation) plan).table();
      Object other = table instanceof CatalogTable ? (Object) new TableItself((CatalogTable) table)
          : ArcticTable.of((PythonTable) table, Pins.SHARED, Callback.AT_USE);
      return Trees.with(plan, 0, other);
    }
  }
}
