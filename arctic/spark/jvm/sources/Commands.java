package arctic.spark;

import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.execution.datasources.CreateTempViewUsing;
import org.apache.spark.sql.internal.SQLConf;

/**
 * Commands that name our format, before they run.
 *
 * A view is told where its table is, for as long as it lives: what names the place is known to the
 * process of the session, not to the workers that are asked for the columns. A table of Spark's own
 * catalog is refused: it would be an entry without a table.
 */
public class Commands {
  private static final int OPTIONS_FIELD = 5;

  private Commands() {}

  public static LogicalPlan settled(LogicalPlan plan, String format, Function planner,
      String noEntries) {
    if (plan instanceof CreateTempViewUsing) {
      CreateTempViewUsing view = (CreateTempViewUsing) plan;
      return view.provider().equalsIgnoreCase(format) ? placed(view, planner) : plan;
    }
    if (plan instanceof V2CreateTablePlan && format.equalsIgnoreCase(provider(plan))) {
      Object name = ((scala.Product) plan).productElement(0);
      if (name instanceof ResolvedIdentifier
          && ((ResolvedIdentifier) name).catalog().name().equals("spark_catalog")) {
        throw refused(((ResolvedIdentifier) name).identifier().toString(), noEntries);
      }
    }
    return plan;
  }

  /** Returns the error for an entry of Spark's own catalog, made or to be made. */
  public static RuntimeException refused(String name, String reason) {
    return new UnsupportedOperationException("'" + name + "': " + reason);
  }

  private static String provider(LogicalPlan plan) {
    scala.Product fields = (scala.Product) plan;
    for (int i = 0; i < fields.productArity(); i++) {
      if (fields.productElement(i) instanceof TableSpecBase) {
        scala.Option provider = ((TableSpecBase) fields.productElement(i)).provider();
        return provider.isDefined() ? (String) provider.get()
            : SQLConf.get().defaultDataSourceName();
      }
    }
    return null;
  }

  private static LogicalPlan placed(CreateTempViewUsing view, Function planner) {
    Map told = Protocol.asked(planner,
        Protocol.place(scala.jdk.javaapi.CollectionConverters.asJava(view.options())));
    return told == null ? view
        : Trees.with(view, OPTIONS_FIELD, Trees.map(Protocol.placed(told)));
  }
}
