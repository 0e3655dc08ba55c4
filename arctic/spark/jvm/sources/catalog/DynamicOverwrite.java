package arctic.spark.catalog;

import arctic.spark.Trees;
import java.lang.reflect.Constructor;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;

/**
 * An overwrite of the partitions that have new rows, as a write whose options say so: Spark hands
 * a frame over for every other write, and would have executors carry out this one.
 */
public final class DynamicOverwrite extends Rule {
  public String ruleName() {
    return "arctic.spark.catalog.DynamicOverwrite";
  }

  public TreeNode apply(TreeNode plan) {
    if (!(plan instanceof OverwritePartitionsDynamic)) {
      return plan;
    }
    // By place: Janino does not choose between what its parents say of its methods.
    scala.Product overwrite = (scala.Product) plan;
    if (!(overwrite.productElement(0) instanceof DataSourceV2Relation)) {
      return plan;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) overwrite.productElement(0);
    if (!(relation.table() instanceof CatalogTable)) {
      return plan;
    }
    Map options = new HashMap(scala.jdk.javaapi.CollectionConverters.asJava(
        (scala.collection.Map) overwrite.productElement(2)));
    options.put("write-mode", "overwrite");
    options.put("partitionOverwriteMode", "dynamic");
    // Subqueries are planned by now, perhaps of a state that is not the newest any more.
    Table target = ((CatalogTable) relation.table()).seenByThisQuery();
    return written(Trees.with(relation, 0, target), (LogicalPlan) overwrite.productElement(1), options,
        ((Boolean) overwrite.productElement(3)).booleanValue());
  }

  /** Its arity differs: the flag of schema evolution came later. */
  private static LogicalPlan written(LogicalPlan table, LogicalPlan rows, Map options,
      boolean byName) {
    Constructor made = AppendData.class.getConstructors()[0];
    Object[] fields = new Object[made.getParameterTypes().length];
    int last = fields.length - 1;
    fields[0] = table;
    fields[1] = rows;
    fields[2] = Trees.map(options);
    for (int i = 3; i < last - 1; i++) {
      fields[i] = Boolean.valueOf(i == 3 && byName);
    }
    fields[last - 1] = scala.Option.empty();
    fields[last] = scala.Option.apply(rows);
    try {
      return (LogicalPlan) made.newInstance(fields);
    } catch (ReflectiveOperationException error) {
      throw new IllegalStateException(error);
    }
  }

  /** Handed to SparkSessionExtensions.injectOptimizerRule. */
  public static final class Install extends scala.runtime.AbstractFunction1 {
    public Object apply(Object session) {
      return new DynamicOverwrite();
    }
  }
}
